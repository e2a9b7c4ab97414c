package handwritten

import (
	"path"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator/diag"
)

// TestTheAgentsRefusals has an error for what the agent refuses, and none for what it takes;
// test/agentcheck asks the agent.
func TestTheAgentsRefusals(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/agent.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		found := Check(Kind(path.Dir(f.Name)), items(t, string(f.Data)), true)
		if refused := found.HasErrors(); refused == strings.HasSuffix(f.Name, ".accepted.yaml") {
			t.Errorf("%s: %v", f.Name, found)
		}
		for _, w := range Check(Kind(path.Dir(f.Name)), items(t, string(f.Data)), false) {
			if w.Severity == diag.Error && w.Code != diag.InvalidRelabeling {
				t.Errorf("%s: an error for an agent that is not known: %v", f.Name, w)
			}
		}
	}
}

// items reads one configuration, without aliases and nulls.
func items(t testing.TB, text string) []*yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content
}
