package prometheus

import (
	"bytes"
	"testing"

	"github.com/grafana/river/parser"
	"github.com/grafana/river/printer"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// TestAlloyTakesEveryFile checks each file that is rendered for Alloy against what its components take in the version
// of the pods, and that it is formatted as alloy fmt formats.
func TestAlloyTakesEveryFile(t *testing.T) {
	files := 0
	eachAlloyFixture(t, func(t *testing.T, w alloyFixture) {
		configs, _ := w.render(t, alloy.Runtime())
		logs, _ := w.renderLogs(t, alloy.Runtime())
		for unit, text := range logs {
			configs[unit+": logs"] = text
		}
		for unit, text := range configs {
			files++
			for _, problem := range alloycheck.Check([]byte(text), "v1.18.1") {
				t.Errorf("%s: %s: %s", w.name, unit, problem)
			}
			if want := formatted(t, text); text != want {
				t.Errorf("%s: %s is not formatted:\n%s", w.name, unit, text)
			}
		}
	})
	if files < 500 && *alloyOnly == "" {
		t.Errorf("only %d files were checked", files)
	}
}

// TestAlloyTakesIntegrations does the same for pods of integrations, and for those that collect them.
func TestAlloyTakesIntegrations(t *testing.T) {
	files := 0
	eachIntegrationCase(t, func(t *testing.T, w integrationCase) {
		for _, p := range w.native.pods {
			if p.node != "node-1" || p.phase != "Running" || p.config == "" {
				continue
			}
			files++
			for _, problem := range alloycheck.Check([]byte(p.config), "v1.18.1") {
				t.Errorf("%s: %s: %s", w.name, p.name, problem)
			}
			if want := formatted(t, p.config); p.config != want {
				t.Errorf("%s: %s is not formatted:\n%s", w.name, p.name, p.config)
			}
		}
	})
	if files < 500 && *alloyOnly == "" {
		t.Errorf("only %d files were checked", files)
	}
}

// TestOlderAlloysTakeTheirFiles renders for the oldest version: no file has a component, an argument or a block that
// came later.
func TestOlderAlloysTakeTheirFiles(t *testing.T) {
	const oldest = "v1.8.0"
	programs, err := generator.RuntimesAt("alloy", oldest, false)
	if err != nil {
		t.Fatal(err)
	}
	files, refused := 0, 0
	eachAlloyFixture(t, func(t *testing.T, w alloyFixture) {
		configs, _ := w.render(t, programs.Default)
		logs, _ := w.renderLogs(t, programs.Default)
		for unit, text := range logs {
			configs[unit+": logs"] = text
		}
		for unit, text := range configs {
			files++
			for _, problem := range alloycheck.Check([]byte(text), oldest) {
				t.Errorf("%s: %s for %s: %s", w.name, unit, oldest, problem)
			}
		}
		newest, _ := w.render(t, alloy.Runtime())
		for _, text := range newest {
			refused += len(alloycheck.Check([]byte(text), oldest))
		}
	})
	if refused == 0 && *alloyOnly == "" {
		t.Error("what is rendered for the newest version has nothing that the oldest refuses")
	}
	if files < 500 && *alloyOnly == "" {
		t.Errorf("only %d files were checked", files)
	}
}

// formatted returns a file as the printer of the agent's Flow mode prints it.
func formatted(t *testing.T, text string) string {
	t.Helper()
	parsed, err := parser.ParseFile("config.alloy", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, parsed); err != nil {
		t.Fatal(err)
	}
	if b.Len() == 0 || text == "" {
		return b.String()
	}
	return b.String() + "\n"
}
