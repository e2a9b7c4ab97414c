package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/page"
)

// Page is a page of the documentation. It is an error not to use all of it.
type Page struct {
	t      *testing.T
	name   string
	blocks []page.Block
	used   []bool
}

// NewPage reads a page of docs.
func NewPage(t *testing.T, name string) *Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	p := &Page{t: t, name: "docs/" + name}
	if p.blocks, err = page.Blocks(p.name, string(text)); err != nil {
		t.Fatal(err)
	}
	p.used = make([]bool, len(p.blocks))
	t.Cleanup(func() {
		for i, b := range p.blocks {
			if !p.used[i] && b.NoRun == "" && !t.Failed() {
				t.Errorf("nobody used %s:\n%s", b, b.Text)
			}
		}
	})
	return p
}

// Find is the first block of a language that holds a text.
func (p *Page) Find(language, with string) string {
	p.t.Helper()
	for i, b := range p.blocks {
		if b.Language == language && strings.Contains(b.Text, with) {
			p.used[i] = true
			return b.Text
		}
	}
	p.t.Fatalf("%s has no %s with %q", p.name, language, with)
	return ""
}

// All are the blocks of a language that hold a text.
func (p *Page) All(language, with string) []string {
	p.t.Helper()
	var out []string
	for i, b := range p.blocks {
		if b.Language == language && strings.Contains(b.Text, with) {
			p.used[i] = true
			out = append(out, b.Text)
		}
	}
	return out
}
