package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentry-dev/agentry/test/oracle"
)

// TestKustomizeScripts runs testdata/kustomize/*.txtar with the real kustomize in PATH: it calls agentry.
func TestKustomizeScripts(t *testing.T) {
	folder := filepath.Dir(oracle.Kustomize(t))
	p := params(filepath.Join("testdata", "kustomize"))
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("PATH", folder+string(os.PathListSeparator)+e.Getenv("PATH"))
		return setup(e)
	}
	testscript.Run(t, p)
}
