package checkout

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

const (
	ignoreFileName = ".gitignore"
	// maxIgnoreBytes limits a .gitignore.
	maxIgnoreBytes = 1 << 20
)

// ignoreRules are what Git ignores in a folder: https://git-scm.com/docs/gitignore.
type ignoreRules struct {
	patterns []gitignore.Pattern
	all      bool // the folder itself is ignored, and is in the tree only for some of its files
}

// add adds the patterns of a .gitignore.
func (r *ignoreRules) add(folder string, text []byte) {
	r.patterns = append(slices.Clip(r.patterns), parsePatterns(folder, text)...)
}

func parsePatterns(folder string, text []byte) (out []gitignore.Pattern) {
	var domain []string
	if folder != "." {
		domain = strings.Split(folder, "/")
	}
	for line := range bytes.Lines(text) {
		s := strings.TrimRight(string(line), "\r\n")
		if s != "" && !strings.HasPrefix(s, "#") {
			out = append(out, gitignore.ParsePattern(s, domain))
		}
	}
	return out
}

// ignores reports whether Git ignores a file or folder, unless it tracks it.
func (r *ignoreRules) ignores(name string, isDir bool) bool {
	if r.all || len(r.patterns) == 0 {
		return r.all
	}
	parts := strings.Split(name, "/")
	for _, p := range slices.Backward(r.patterns) {
		if match := p.Match(parts, isDir); match != gitignore.NoMatch {
			return match == gitignore.Exclude
		}
	}
	return false
}

// below returns the rules in a folder that the tree has, without those of its own .gitignore. An ignored folder that is
// named, or is in such a folder, begins anew.
func (r *ignoreRules) below(folder string, named []string) ignoreRules {
	if !r.ignores(folder, true) {
		return ignoreRules{patterns: r.patterns}
	}
	if slices.ContainsFunc(named, func(n string) bool { return pipeline.Within(n, folder) }) {
		return ignoreRules{}
	}
	return ignoreRules{all: true}
}
