package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// TestPreCommitHooks runs the hooks as pre-commit would: with correct manifests, and with a mistake that each hook
// finds.
func TestPreCommitHooks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID            string   `json:"id"`
		Name          string   `json:"name"`
		Description   string   `json:"description"`
		Entry         string   `json:"entry"`
		Args          []string `json:"args"`
		Language      string   `json:"language"`
		Types         []string `json:"types_or"`
		PassFilenames *bool    `json:"pass_filenames"`
	}
	if err := yaml.UnmarshalStrict(text, &hooks); err != nil {
		t.Fatal(err)
	}
	mistakes := map[string]string{
		"agentry-check": `exec sed -i 's/interval: 30s/intreval: 30s/' team-shop/monitors.yaml`,
		"agentry-test":  `exec sed -i 's/port: metrics/port: http/' team-shop/monitors.yaml`,
	}
	files := t.TempDir()
	for _, h := range hooks {
		if h.PassFilenames == nil || *h.PassFilenames || h.Language != "golang" || mistakes[h.ID] == "" {
			t.Errorf("%s: pre-commit would run something else than this test", h.ID)
		}
		run := h.Entry + " " + strings.Join(h.Args, " ") + "\n"
		script := "cd quickstart\nexits 0 " + run + mistakes[h.ID] + "\nexits 1 " + run
		if err := os.WriteFile(filepath.Join(files, h.ID+".txtar"), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, params(files))
}
