package gitops

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// Page is a page of the documentation. It is an error not to use all of it.
type Page struct {
	t      *testing.T
	name   string
	blocks []*block
}

// block is a manifest or a command of the page.
type block struct {
	language, text string
	used           bool
}

// NewPage reads a page of docs.
func NewPage(t *testing.T, name string) *Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	p := &Page{t: t, name: name}
	for _, m := range regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?)```\n").FindAllStringSubmatch(string(text), -1) {
		p.blocks = append(p.blocks, &block{language: m[1], text: m[2]})
	}
	t.Cleanup(func() {
		for _, b := range p.blocks {
			if !b.used && !t.Failed() {
				t.Errorf("nobody used this of docs/%s:\n%s", name, b.text)
			}
		}
	})
	return p
}

// Find is the first block of a language that holds a text.
func (p *Page) Find(language, with string) string {
	p.t.Helper()
	for _, b := range p.blocks {
		if b.language == language && strings.Contains(b.text, with) {
			b.used = true
			return b.text
		}
	}
	p.t.Fatalf("docs/%s has no %s with %q", p.name, language, with)
	return ""
}
