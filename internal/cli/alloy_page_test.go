package cli

import (
	"strings"
	"testing"
)

// TestAlloyPage types the section of docs/alloy.md that moves one GrafanaAgent, with the files at its top committed and
// rendered once. Its commands must print what the page shows. With -update the page gets what they print.
func TestAlloyPage(t *testing.T) {
	needTools(t)
	const title = "\n## Move one GrafanaAgent\n"
	page := readPage(t, "alloy.md")
	before, rest, found := strings.Cut(page, title)
	section, after, ends := strings.Cut(rest, "\n## ")
	if !found || !ends {
		t.Fatalf("there is no section%s", title)
	}
	files, _, _ := strings.Cut(section, "```console\n")
	comparePage(t, "alloy.md", page, before+title+newTerminal(t, files).play(section)+"\n## "+after)
}
