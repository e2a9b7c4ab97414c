// Package dependencies holds docs/dependencies.md to what go.mod requires directly.
package dependencies

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachDirectDependencyHasOneReason(t *testing.T) {
	want, got := required(t), explained(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), got); diff != "" {
		t.Errorf("docs/dependencies.md does not list what go.mod requires, sorted, each once (-required +listed):\n%s",
			diff)
	}
}

// required are the modules that go.mod requires directly.
func required(t *testing.T) map[string]bool {
	t.Helper()
	command := exec.Command("go", "mod", "edit", "-json")
	command.Dir = filepath.Join("..", "..")
	text, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, r := range mod.Require {
		if !r.Indirect {
			out[r.Path] = true
		}
	}
	return out
}

// row is a module and its reason in the table.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .*\\S.* \\|$")

func explained(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range row.FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// TestProgramsDoNotLinkCEL keeps 6.8 MB out of the programs: packages of Kubernetes that validate custom resources
// import the CEL interpreter, and no CRD here has CEL rules.
func TestProgramsDoNotLinkCEL(t *testing.T) {
	command := exec.Command("go", "list", "-deps", "./cmd/...")
	command.Dir = filepath.Join("..", "..")
	linked, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(linked), "github.com/google/cel-go/") {
		t.Error("cel-go is linked; find the import with: go list -deps -f '{{.ImportPath}}: {{.Imports}}' ./cmd/... " +
			"| grep cel-go")
	}
}
