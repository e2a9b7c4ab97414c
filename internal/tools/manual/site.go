package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// contents is the page whose lists are the navigation.
const contents = "docs/README.md"

//go:embed theme
var theme embed.FS

// layout is the layout of every page.
var layout = template.Must(template.ParseFS(theme, "theme/page.html"))

// build returns all files of the site, by name.
func build(root string) (map[string][]byte, error) {
	s := &site{root: root, pages: map[string]*page{}, files: map[string][]byte{}}
	if err := s.read(); err != nil {
		return nil, err
	}
	var problems []error
	for _, p := range s.order {
		problems = append(problems, s.link(p)...)
	}
	if err := errors.Join(append(problems, s.unlisted())...); err != nil {
		return nil, err
	}
	for i, p := range s.order {
		if err := s.print(i, p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return s.files, s.assets()
}

// site is the manual while it is built.
type site struct {
	root     string
	sections []section
	pages    map[string]*page // by name
	order    []*page          // in reading order
	files    map[string][]byte
}

// section is a part of the navigation.
type section struct {
	Title string
	Items []item
}

// item is a page in the navigation.
type item struct {
	Title, name string
}

// read reads the navigation, and the pages that it lists.
func (s *site) read() error {
	first, err := s.page(contents)
	if err != nil {
		return err
	}
	s.sections = first.sections()
	s.order = []*page{first}
	s.pages[contents] = first
	for _, part := range s.sections {
		for _, i := range part.Items {
			if s.pages[i.name] != nil {
				return fmt.Errorf("%s lists %s twice", contents, i.name)
			}
			p, err := s.page(i.name)
			if err != nil {
				return fmt.Errorf("%s lists a page that cannot be read: %w", contents, err)
			}
			s.pages[i.name] = p
			s.order = append(s.order, p)
		}
	}
	return nil
}

func (s *site) page(name string) (*page, error) {
	text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	return parse(name, text), nil
}

// unlisted returns an error if docs/ has pages that the navigation does not list.
func (s *site) unlisted() error {
	names, err := filepath.Glob(filepath.Join(s.root, "docs", "*.md"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if name := "docs/" + filepath.Base(name); s.pages[name] == nil {
			return fmt.Errorf("%s is not in the lists of %s: add it where people should read it", name, contents)
		}
	}
	return nil
}

// shown is the input of the layout.
type shown struct {
	Title, Base   string // Base leads from the page to the top of the site
	Sections      []shownSection
	Home          shownLink
	Body          template.HTML
	Before, After shownLink
	Outline       []heading
}

type shownSection struct {
	Title string
	Items []shownLink
}

type shownLink struct {
	Title, Address string
	Here           bool
}

// print adds the HTML of the page at a position in the order.
func (s *site) print(at int, p *page) error {
	body, err := p.html()
	if err != nil {
		return err
	}
	titles := map[string]string{contents: "Contents"}
	v := shown{Title: p.title(), Base: strings.Repeat("../", strings.Count(p.name, "/")), Body: template.HTML(body)}
	for _, part := range s.sections {
		out := shownSection{Title: part.Title}
		for _, i := range part.Items {
			titles[i.name] = i.Title
			out.Items = append(out.Items, shownLink{i.Title, relative(p.name, address(i.name)), i.name == p.name})
		}
		v.Sections = append(v.Sections, out)
	}
	next := func(i int) shownLink {
		if i < 0 || i >= len(s.order) {
			return shownLink{}
		}
		return shownLink{Title: titles[s.order[i].name], Address: relative(p.name, address(s.order[i].name))}
	}
	v.Home, v.Before, v.After = next(0), next(at-1), next(at+1)
	for _, h := range p.headings {
		if h.Level == 2 {
			v.Outline = append(v.Outline, h)
		}
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, v); err != nil {
		return err
	}
	s.files[address(p.name)] = b.Bytes()
	return nil
}

// assets adds the files that all pages share: the style, the search and its index.
func (s *site) assets() error {
	for _, name := range []string{"style.css", "search.js"} {
		data, err := theme.ReadFile("theme/" + name)
		if err != nil {
			return err
		}
		s.files[name] = data
	}
	var passages []passage
	for _, p := range s.order {
		passages = append(passages, p.passages()...)
	}
	index, err := json.Marshal(passages)
	// A script rather than JSON, because a page that is opened as a file cannot load JSON.
	s.files["search-index.js"] = slices.Concat([]byte("searchIndex = "), index, []byte(";\n"))
	s.files["index.html"] = []byte(
		`<!DOCTYPE html><html lang="en"><title>agentry</title><meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">The manual of agentry</a></html>` + "\n")
	return err
}

// address returns the address of a page on the site.
func address(name string) string {
	if name == "README.md" {
		return "readme.html" // index.html leads to the manual
	}
	if path.Base(name) == "README.md" {
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// relative returns the relative path from a page to a file of the site.
func relative(page, to string) string {
	way, err := filepath.Rel(path.Dir(page), to)
	if err != nil { // Both are below the top, so it cannot fail.
		return to
	}
	return filepath.ToSlash(way)
}
