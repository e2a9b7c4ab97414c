package prometheus

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// mutated are integrations of all kinds, with rules that make all labels of targets visible.
//
//go:embed testdata/integrations.yaml
var mutated string

func mutatedCase(t *testing.T) integrationCase {
	t.Helper()
	w, ok := alloyFixture{"testdata/integrations.yaml", mutated, manifest.Current, secretref.Plaintext}.clusters(t)
	if !ok {
		t.Fatal("it is refused")
	}
	return w
}

// What mutations change, as it is printed.
var (
	ruleBlock  = regexp.MustCompile(`(?m)^\trule \{\n(\t\t.*\n)+\t\}\n`)
	components = regexp.MustCompile(`(?m)^[a-z_.]+ "\w+" \{\n(\t.*\n|\n)*\}\n`)
	attribute  = regexp.MustCompile(
		`(?m)^\t+(replacement|target_label|regex|action|label|names|scrape_timeout|address|module|auth|walk_params) += .*\n`)
)

// redundant are rules that change nothing in these tests: all addresses have ports, all targets have a path, Alloy
// selects among the MetricsIntegrations of one GrafanaAgent only, and the instance of an IntegrationMonitor's rule is
// overwritten.
var redundant = []string{`[^:\\[\\]]+`, `source_labels = ["__metrics_path__"]`, `regex         = "m/a"`,
	`regex         = ".+"`, `replacement  = "mine"`}

// mutants returns texts in which a rule is dropped, or the value of an attribute is another one, in the components with
// a prefix, by what was changed.
func mutants(text, component string) map[string]string {
	out := map[string]string{}
	for _, at := range components.FindAllStringIndex(text, -1) {
		whole := text[at[0]:at[1]]
		if !strings.HasPrefix(whole, component) {
			continue
		}
		first, _, _ := strings.Cut(whole, "\n")
		change := func(from, to int, with string) {
			out[fmt.Sprintf("%s at %d: %s becomes %s", first, from, whole[from:to],
				with)] = text[:at[0]] + whole[:from] + with + whole[to:] + text[at[1]:]
		}
		kept := []byte(whole)
		for _, rule := range ruleBlock.FindAllStringIndex(whole, -1) {
			block := whole[rule[0]:rule[1]]
			if slices.ContainsFunc(redundant, func(part string) bool { return strings.Contains(block, part) }) {
				copy(kept[rule[0]:], strings.Repeat("\n", len(block)))
				continue
			}
			change(rule[0], rule[1], "")
		}
		for _, line := range attribute.FindAllIndex(kept, -1) {
			change(line[0], line[1], otherValue(whole[line[0]:line[1]]))
		}
	}
	return out
}

// otherActions are those of rules that say something else with the same fields.
var otherActions = map[string]string{"keep": "drop", "drop": "keep", "labeldrop": "labelmap", "labelmap": "labeldrop",
	"hashmod": "lowercase", "replace": "uppercase"}

// otherValue returns an attribute with another value that is valid.
func otherValue(line string) string {
	name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "= ")
	other := `"other"`
	switch {
	case strings.Contains(name, "action"):
		other = strconv.Quote(otherActions[strings.Trim(value, `"`)])
	case strings.Contains(name, "scrape_timeout"):
		other = `"7s"`
	case strings.HasPrefix(value, "["):
		other = `["other"]`
	}
	return name + "= " + other + "\n"
}

// TestMutationsOfWhatIsCollectedAreFound changes each rule by which IntegrationMonitors find exporters in other pods,
// and what these pods run.
func TestMutationsOfWhatIsCollectedAreFound(t *testing.T) {
	const unit = "m/a"
	w := mutatedCase(t)
	want := w.static.byAgents(t, unit)
	if problems := want.unlike(w.native.byAlloys(t, unit)); len(problems) > 0 || len(want.targets) != 12 {
		t.Fatalf("%d targets: %v", len(want.targets), problems)
	}
	made := 0
	for _, component := range []string{"discovery.kubernetes ", `discovery.relabel "integrationMonitor`,
		`discovery.relabel "metricsIntegration__m__`, `discovery.relabel "metricsIntegration__shop__cache`} {
		for what, text := range mutants(w.native.metrics[unit], component) {
			made++
			other := cluster{w.native.pods, map[string]string{unit: text}}
			if len(want.unlike(other.byAlloys(t, unit))) == 0 {
				t.Errorf("not found: %s", what)
			}
		}
	}
	t.Logf("%d rules and values were changed", made)
	if made < 100 {
		t.Errorf("only %d rules and values were changed", made)
	}
	for _, p := range w.native.pods {
		if good := p.config; p.runsIntegrations() && strings.Contains(good, "metricsIntegration__") {
			p.config = regexp.MustCompile(`(prometheus\.exporter\.\w+ "metricsIntegration__\w+)"`).ReplaceAllString(
				good, `${1}x"`)
			if len(want.unlike(w.native.byAlloys(t, unit))) == 0 {
				t.Errorf("exporters of another name in %s are not found", p.name)
			}
			p.config = good
		}
	}
}

// TestMutationsOfIntegrationsAreFound changes each rule and value by which exporters are scraped in their own pods.
func TestMutationsOfIntegrationsAreFound(t *testing.T) {
	w := mutatedCase(t)
	made := 0
	for _, p := range w.static.pods {
		want, good := []selfScraped(nil), ""
		if p.runsIntegrations() && p.node == "node-1" {
			want, good = agentsOwn(t, p.config), w.native.twin(t, p).config
		}
		if len(want) == 0 {
			continue
		}
		if problems := unlike(want, alloysOwn(t, good)); len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, component := range []string{"discovery.", "prometheus.scrape ", "prometheus.exporter.blackbox ",
			"prometheus.exporter.snmp "} {
			for what, text := range mutants(good, component) {
				made++
				if len(unlike(want, alloysOwn(t, text))) == 0 {
					t.Errorf("not found: %s", what)
				}
			}
		}
	}
	if made < 100 {
		t.Errorf("only %d rules and values were changed", made)
	}
}
