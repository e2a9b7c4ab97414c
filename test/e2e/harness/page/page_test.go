package page

import (
	"slices"
	"strings"
	"testing"
)

func TestBlocks(t *testing.T) {
	text := "# Title\n\n```sh\nmake\n```\n\n<!-- no-run: why not -->\n```console\n$ ls\nfile\n```\n\n- item\n\n" +
		"  ```yaml\n  a:\n    b: 1\n  ```\n"
	got, err := Blocks("docs/a.md", text)
	want := []Block{
		{Page: "docs/a.md", Line: 3, Language: "sh", Text: "make\n"},
		{Page: "docs/a.md", Line: 8, Language: "console", Text: "$ ls\nfile\n", NoRun: "why not"},
		{Page: "docs/a.md", Line: 15, Language: "yaml", Text: "a:\n  b: 1\n"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
}

func TestBlocksThatWouldHide(t *testing.T) {
	for text, want := range map[string]string{
		"```sh\nmake\n": "ends within a block",
		"<!-- no-run: why -->\n\n```sh\nmake\n```\n": "no block follows",
		"<!-- no-run: why -->":                       "after a mark",
		"<!-- no-run -->\n```sh\nmake\n```\n":        "the mark is",
		"<!-- no-run: -->\n```sh\nmake\n```\n":       "the mark is",
		" <!-- no-run: a -->\n```sh\nx\n```\n":       "the mark is",
	} {
		if got, err := Blocks("a.md", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestCommands(t *testing.T) {
	text := "make test\nmonitoring/a.yaml: error\n  $ git log\n# fixtures/\nmake\nagentry - render it\n" +
		"kubectl -n a get pods\ngo: downloading\n*/5 * * * * agentry sync\n"
	if got := Commands(text); !slices.Equal(got,
		[]string{"make test", "$ git log", "agentry - render it", "kubectl -n a get pods"}) {
		t.Errorf("%q", got)
	}
}

func TestIndented(t *testing.T) {
	text := "text\n    goes on\n\n    make it\n    so\n\n```sh\n\n    fenced\n```\n- item\n\n      deeper\n"
	if got := Indented(text); !slices.Equal(got, []string{"    make it", "    so", "      deeper"}) {
		t.Errorf("%q", got)
	}
}
