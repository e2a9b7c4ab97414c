package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestDocumentedManifestsAreFine checks every example in the manual that has a GrafanaAgent: it has no error, and every
// object is selected.
func TestDocumentedManifestsAreFine(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	count := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
			block, _, _ := strings.Cut(part, "```")
			if !strings.Contains(block, "\nkind: GrafanaAgent\n") {
				continue
			}
			count++
			script := "exits 0 agentry check --strict example.yaml\n! stdout .\nexits 0 agentry tree example.yaml\n" +
				"! stdout 'Not selected'\n-- example.yaml --\n" + block
			name := fmt.Sprintf("%s-%d.txtar", strings.TrimSuffix(filepath.Base(page), ".md"), count)
			if err := os.WriteFile(filepath.Join(files, name), []byte(script), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count == 0 {
		t.Fatal("the manual has no example")
	}
	testscript.Run(t, params(files))
}
