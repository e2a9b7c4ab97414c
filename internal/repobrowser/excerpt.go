package repobrowser

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
)

// Excerpt is the input line that a finding is about, cut around the position of the finding. The zero Excerpt means
// that the line is not in the cache or must not be shown.
type Excerpt struct {
	Before, At, After string
}

// Excerpts returns the lines that a pipeline's findings are about, in the same order. Like `agentry check`, it shows
// no line that can contain a credential.
func (s *Store) Excerpts(pipeline string, list diag.List) []Excerpt {
	out := make([]Excerpt, len(list))
	v, refused := s.open(pipeline)
	if refused != nil {
		return out
	}
	defer v.close()
	known := map[[2]string][]byte{}
	for i, f := range list {
		commit := v.commitOf(f)
		if commit == "" || f.File == "" || f.Line == 0 {
			continue
		}
		at := [2]string{commit, f.File}
		text, read := known[at]
		if !read {
			text = v.text(commit, f.File)
			known[at] = text
		}
		if line, ok := f.Excerpt(text); ok && text != nil {
			out[i] = excerptAt(line, f.Column)
		}
	}
	return out
}

// commitOf returns the input commit that a finding is about, or "".
func (v *view) commitOf(f diag.Diagnostic) string {
	for _, src := range v.Sources {
		if len(v.Sources) == 1 || f.Source == src.URL {
			return src.Commit
		}
	}
	return ""
}

// text returns a file of an input commit, or nil if the cache does not have it.
func (v *view) text(commit, file string) []byte {
	rd := v.with(commit)
	if rd == nil {
		return nil
	}
	c, err := rd.Commit(plumbing.NewHash(commit))
	if err != nil {
		return nil
	}
	text, err := branch.ReadFile(rd, c.Tree, file)
	if err != nil {
		return nil
	}
	return text
}

// excerptAt cuts a line around the word at a column, which counts characters from 1.
func excerptAt(line string, column int) Excerpt {
	runes := []rune(line)
	if column < 1 || column > len(runes) {
		return Excerpt{Before: line}
	}
	before, rest := string(runes[:column-1]), string(runes[column-1:])
	end := strings.IndexAny(rest, " ,:]}")
	if end < 1 {
		end = len(rest)
	}
	return Excerpt{before, rest[:end], rest[end:]}
}
