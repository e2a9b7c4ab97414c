package main

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// passage is a search result: the text below a heading.
type passage struct {
	Page    string `json:"page"` // its title
	Address string `json:"address"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// passages splits the page at its headings.
func (p *page) passages() []passage {
	var out []passage
	next := 0 // heading
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		if _, ok := n.(*ast.Heading); ok {
			h := p.headings[next]
			next++
			out = append(out, passage{Page: p.title(), Address: address(p.name) + "#" + h.Anchor, Heading: h.Text})
			continue
		}
		if len(out) == 0 {
			continue // a comment above the title
		}
		last := &out[len(out)-1]
		last.Text = strings.TrimSpace(last.Text + " " + words(n, p.source))
	}
	return out
}

// words returns the text of a block on one line, with a space between the cells of a table.
func words(block ast.Node, source []byte) string {
	var parts []string
	for n := range nodes(block) {
		if n.Type() == ast.TypeBlock && (n.FirstChild() == nil || n.FirstChild().Type() == ast.TypeInline) {
			parts = append(parts, plain(n, source))
		}
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}
