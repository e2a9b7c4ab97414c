package flux

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// page is docs/flux.md. It is an error not to use all of it.
type page struct {
	t      *testing.T
	blocks []*block
}

// block is a manifest or a command of the page.
type block struct {
	language, text string
	used           bool
}

func newPage(t *testing.T) *page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "flux.md"))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t}
	for _, m := range regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?)```\n").FindAllStringSubmatch(string(text), -1) {
		p.blocks = append(p.blocks, &block{language: m[1], text: m[2]})
	}
	t.Cleanup(func() {
		for _, b := range p.blocks {
			if !b.used && !t.Failed() {
				t.Errorf("nobody used this of docs/flux.md:\n%s", b.text)
			}
		}
	})
	return p
}

// find is the first block of a language that holds a text.
func (p *page) find(language, with string) string {
	p.t.Helper()
	for _, b := range p.blocks {
		if b.language == language && strings.Contains(b.text, with) {
			b.used = true
			return b.text
		}
	}
	p.t.Fatalf("docs/flux.md has no %s with %q", language, with)
	return ""
}
