package main

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

const (
	// forge is the address of the repository's folders, which are not on the site.
	forge = "https://github.com/agentry-dev/agentry/tree/main/"
	// blob is the address of its files, for pages that others show as well, such as those of the charts.
	blob = "https://github.com/agentry-dev/agentry/blob/main/"
)

// link turns the links of a page into links of the site, and returns an error for each broken one.
func (s *site) link(p *page) []error {
	var problems []error
	for n := range nodes(p.root) {
		var destination *[]byte
		switch n := n.(type) {
		case *ast.Link:
			destination = &n.Destination
		case *ast.Image:
			destination = &n.Destination
		default:
			continue
		}
		to, err := s.resolve(p, string(*destination))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: the link to %s: %w", p.name, *destination, err))
			continue
		}
		*destination = []byte(to)
	}
	return problems
}

// resolve returns the address on the site that a link of a page leads to.
func (s *site) resolve(p *page, link string) (string, error) {
	folder := path.Dir(p.name)
	if rest, isFile := strings.CutPrefix(link, blob); isFile {
		link, folder = rest, ""
	}
	at, err := url.Parse(link)
	if err != nil || at.Scheme != "" {
		return link, err
	}
	target := p
	if at.Path != "" {
		name := path.Join(folder, at.Path)
		if readme := path.Join(name, "README.md"); s.pages[readme] != nil {
			name = readme
		}
		if target = s.pages[name]; target == nil {
			return s.file(p, name)
		}
		at.Path = relative(p.name, address(name))
	}
	if at.Fragment != "" && !target.anchors[at.Fragment] {
		return "", fmt.Errorf("%s has no heading #%s", target.name, at.Fragment)
	}
	return at.String(), nil
}

// file adds a file of the repository to the site. Links to folders lead to the forge.
func (s *site) file(p *page, name string) (string, error) {
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("it leads outside of the repository")
	}
	if path.Ext(name) == ".md" {
		return "", fmt.Errorf("%s does not exist, or is not in the lists of %s", name, contents)
	}
	full := filepath.Join(s.root, filepath.FromSlash(name))
	info, err := os.Stat(full)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return forge + name, nil
	}
	s.files[name], err = os.ReadFile(full)
	return relative(p.name, name), err
}
