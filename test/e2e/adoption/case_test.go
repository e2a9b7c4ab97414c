package adoption

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// conformance is a conformance case.
type conformance struct {
	name  string
	input string // the file
	// custom are the custom resources, and operator what the operator made of them.
	custom, operator []*unstructured.Unstructured
}

// conformanceCases are all that there are.
func conformanceCases(t *testing.T) []conformance {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(harness.Root(), "test", "conformance", "operator", "*", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []conformance
	for _, file := range files {
		out = append(out, readCase(t, filepath.Base(filepath.Dir(file))))
	}
	if len(out) < 100 {
		t.Fatalf("only %d cases", len(out))
	}
	return out
}

func readCase(t *testing.T, name string) conformance {
	t.Helper()
	dir := filepath.Join(harness.Root(), "test", "conformance", "operator", name)
	c := conformance{name: name, input: filepath.Join(dir, "input.yaml")}
	for _, o := range decodeFile(t, c.input) {
		if strings.HasPrefix(o.GetAPIVersion(), "monitoring.") {
			c.custom = append(c.custom, o)
		}
	}
	c.operator = decodeFile(t, filepath.Join(dir, "expected", "objects.yaml"))
	return c
}

func decodeFile(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return harness.Decode(t, text)
}

// render is what agentry makes of a case, in a folder as of the output branch. What is wrong with
// the case is left out of it.
func (c conformance) render(t *testing.T, mode, policy string) (dir string, objects []*unstructured.Unstructured) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	out, err := exec.Command(harness.Agentry().Path(), "render", "--compatibility", mode, "--secrets", policy, "-o",
		dir, c.input).CombinedOutput()
	//nolint:errorlint // of this very command
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() > 1) {
		t.Fatalf("agentry render: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Base(file) != "kustomization.yaml" {
			objects = append(objects, decodeFile(t, file)...)
		}
	}
	return dir, objects
}
