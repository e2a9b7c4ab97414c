package integration

import (
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
)

var update = flag.Bool("update", false, "rewrite golden files and the manual")

const agentCases = "testdata/agent.txtar"

// TestAgainstTheAgent holds what is found in configurations of which test/agentcheck knows
// from the agent itself whether it takes them.
func TestAgainstTheAgent(t *testing.T) {
	archive, err := txtar.ParseFile(agentCases)
	if err != nil {
		t.Fatal(err)
	}
	accepted, refused := map[string]bool{}, map[string]bool{}
	for i := range archive.Files {
		f := &archive.Files[i]
		name := path.Dir(f.Name)
		comments, config := cutComments(string(f.Data))
		checked := Default().Check(Input{Name: name, Config: decode(t, config), Strict: true,
			AllNodes: Default().types[name].Placement == EveryNode})
		got := describe(checked.Findings)
		if checked.InstanceKnown && !hasErrors(checked.Findings) {
			got += "# instance: " + checked.Instance + "\n"
		}
		if diff := cmp.Diff(comments, got); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
		f.Data = []byte(got + config)
		takes := strings.HasSuffix(f.Name, ".accepted.yaml")
		if has := hasErrors(checked.Findings); has == takes {
			t.Errorf("%s: an error is found: %v", f.Name, has)
		}
		accepted[name], refused[name] = accepted[name] || takes, refused[name] || !takes
	}
	for name := range Default().types {
		if !accepted[name] || !refused[name] {
			t.Errorf("%s needs an accepted case and a refused one", name)
		}
	}
	if *update {
		if err := os.WriteFile(agentCases, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func cutComments(text string) (comments, rest string) {
	for strings.HasPrefix(text, "#") {
		line, after, _ := strings.Cut(text, "\n")
		comments, text = comments+line+"\n", after
	}
	return comments, text
}

// describe prints findings, one on a line, as comments.
func describe(findings diag.List) string {
	var out strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&out, "# %s[%s] %s: %s", f.Severity, f.Code, f.Path, f.Message)
		if f.Hint != "" {
			fmt.Fprintf(&out, " (%s)", f.Hint)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func hasErrors(findings diag.List) bool {
	for _, f := range findings {
		if f.Severity == diag.Error {
			return true
		}
	}
	return false
}

func decode(t testing.TB, text string) any {
	t.Helper()
	v, _, err := yamlvalue.Decode(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return v
}
