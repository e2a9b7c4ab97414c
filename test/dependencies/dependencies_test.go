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

	"github.com/Masterminds/semver/v3"
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
	out := map[string]bool{}
	for _, r := range requirements(t, ".") {
		if !r.Indirect {
			out[r.Path] = true
		}
	}
	return out
}

type requirement struct {
	Path, Version string
	Indirect      bool
}

// requirements are those of the go.mod in a folder of the repository, without what it replaces.
func requirements(t *testing.T, folder string) []requirement {
	t.Helper()
	command := exec.Command("go", "mod", "edit", "-json")
	command.Dir = filepath.Join("..", "..", folder)
	text, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []requirement
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		t.Fatal(err)
	}
	replaced := map[string]bool{}
	for _, r := range mod.Replace {
		replaced[r.Old.Path] = true
	}
	return slices.DeleteFunc(mod.Require, func(r requirement) bool { return replaced[r.Path] })
}

// olderOnPurpose are modules that need an older version of something than the main module, by their folder.
var olderOnPurpose = map[string][]string{
	"test/agentcheck": {""}, // the last Grafana Agent
	"internal/tools":  {""}, "test/fixtures": {""}, "test/e2e/tools/argocd": {""}, "test/e2e/tools/crds": {""},
	"test/prometheus/clients/prometheus-2.48": {""}, // the client of Prometheus 2.48
	"test/e2e/tools/reloader": {"github.com/KimMachineGun/automemlimit", "github.com/prometheus/prometheus",
		"github.com/prometheus/alertmanager"},
}

// TestModulesShareVersions: what is compiled for one module is compiled for all that have the same versions of it. Half
// of what CI compiles would be compiled again otherwise.
func TestModulesShareVersions(t *testing.T) {
	ours := map[string]string{}
	for _, r := range requirements(t, ".") {
		ours[r.Path] = r.Version
	}
	command := exec.Command("git", "ls-files", "--", "*/go.mod")
	command.Dir = filepath.Join("..", "..")
	files, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.FieldsSeq(string(files)) {
		folder := filepath.Dir(file)
		allowed := olderOnPurpose[folder]
		if slices.Contains(allowed, "") {
			continue
		}
		var older []string
		for _, r := range requirements(t, folder) {
			our, isOurs := ours[r.Path]
			if isOurs && !slices.Contains(allowed, r.Path) &&
				semver.MustParse(r.Version).LessThan(semver.MustParse(our)) {
				older = append(older, r.Path+"@"+our)
			}
		}
		if len(older) > 0 {
			t.Errorf("older than in the main module: go -C %s get %s", folder, strings.Join(older, " "))
		}
	}
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
