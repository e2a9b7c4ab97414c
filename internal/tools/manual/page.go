package main

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// markdown is the dialect of forges. The pages are our own, so their HTML is kept: it is comments for tests.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))

// page is a page of the repository.
type page struct {
	name     string // in the repository
	source   []byte
	root     ast.Node
	headings []heading
	anchors  map[string]bool
}

// heading is a heading of a page.
type heading struct {
	Level        int
	Text, Anchor string
}

// parse reads a page, and gives its headings the anchors that GitHub gives them.
func parse(name string, source []byte) *page {
	p := &page{name: name, source: source, root: markdown.Parser().Parse(text.NewReader(source)),
		anchors: map[string]bool{}}
	for n := range nodes(p.root) {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		words := plain(h, source)
		anchor := slug(words)
		for i := 1; p.anchors[anchor]; i++ {
			anchor = fmt.Sprintf("%s-%d", slug(words), i)
		}
		p.anchors[anchor] = true
		h.SetAttributeString("id", []byte(anchor))
		p.headings = append(p.headings, heading{h.Level, words, anchor})
	}
	return p
}

// slug returns the anchor that GitHub makes from a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func (p *page) title() string {
	if len(p.headings) == 0 {
		return p.name
	}
	return p.headings[0].Text
}

// sections returns the lists below the page's headings: in each item, the first link is the one to the page.
func (p *page) sections() []section {
	var out []section
	for n := range nodes(p.root) {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				out = append(out, section{Title: plain(n, p.source)})
			}
		case *ast.ListItem:
			if len(out) == 0 {
				continue
			}
			for inside := range nodes(n) {
				if link, ok := inside.(*ast.Link); ok {
					last := &out[len(out)-1]
					last.Items = append(last.Items,
						item{plain(link, p.source), path.Join(path.Dir(p.name), string(link.Destination))})
					break
				}
			}
		}
	}
	return out
}

// html returns the contents of the page for the layout.
func (p *page) html() (string, error) {
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.source, p.root); err != nil {
		return "", err
	}
	// Wide parts scroll in a frame of their own, which the keyboard can reach.
	return strings.NewReplacer(
		"<table>", `<div class="wide" tabindex="0"><table>`, "</table>", "</table></div>",
		"<th></th>", "<td></td>", "<th>", `<th scope="col">`, "<pre>", `<pre tabindex="0">`,
	).Replace(b.String()), nil
}

// nodes iterates over all nodes below one, in the order of the page.
func nodes(root ast.Node) func(func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // never fails
			if entering && !yield(n) {
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
	}
}

// plain returns the text of a node without markup.
func plain(root ast.Node, source []byte) string {
	var b strings.Builder
	for n := range nodes(root) {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(source))
			}
		}
	}
	return b.String()
}
