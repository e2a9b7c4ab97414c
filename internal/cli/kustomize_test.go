package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestKustomizeScripts runs testdata/kustomize/*.txtar with the real kustomize in PATH: it calls agentry.
func TestKustomizeScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles kustomize, which takes half a minute the first time: make race runs it")
	}
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "kustomize"),
		"sigs.k8s.io/kustomize/kustomize/v5")
	build.Dir = filepath.Join("..", "..", "test", "e2e", "tools", "kustomize")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kustomize: %v\n%s", err, out)
	}
	p := params(filepath.Join("testdata", "kustomize"))
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("PATH", folder+string(os.PathListSeparator)+e.Getenv("PATH"))
		return setup(e)
	}
	testscript.Run(t, p)
}
