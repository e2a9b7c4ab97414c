package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAlloyPage types the section of docs/alloy.md that moves one GrafanaAgent, with the files at its top committed and
// rendered once. Its commands must print what the page shows. With -update the page gets what they print.
func TestAlloyPage(t *testing.T) {
	needTools(t)
	const title = "\n## Move one GrafanaAgent\n"
	file := filepath.Join("..", "..", "docs", "alloy.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), title)
	section, after, ends := strings.Cut(rest, "\n## ")
	if !found || !ends {
		t.Fatalf("there is no section%s", title)
	}
	head, _, _ := strings.Cut(section, "```console\n")
	got := before + title + newTerminal(t, head).play(section) + "\n## " + after
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(page), got); diff != "" {
		t.Errorf("docs/alloy.md does not say what is printed; look at what -update makes of it (-page +printed):\n%s", diff)
	}
}
