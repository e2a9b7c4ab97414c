// Package sourceignore applies the .sourceignore files of a repository, like Flux (fluxcd/pkg/sourceignore). They have
// the syntax of .gitignore. Each file applies to its folder and everything below. Of all patterns that match a path,
// the last one of the deepest file wins. A pattern with "!" can include a file of an ignored folder again, which is not
// possible in git itself.
//
// Flux's built-in patterns (images, archives, CI files) are not applied.
package sourceignore

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/agentry-dev/agentry/generator/diag"
)

// FileName is the name of the files.
const FileName = ".sourceignore"

const (
	// MaxBytes is the maximum size of a file.
	MaxBytes = 64 << 10
	// MaxPatterns is the maximum number of patterns in a file, because each is compared with every path.
	MaxPatterns = 1000
)

// File is one .sourceignore.
type File struct {
	patterns []pattern
	// Unusable is set if the file is too large or unreadable. It hides everything below its folder, because its
	// patterns are unknown.
	Unusable bool
}

// pattern is one pattern, with its line.
type pattern struct {
	gitignore.Pattern
	line int
}

// Unusable returns a file that is too large or unreadable.
func Unusable() File { return File{Unusable: true} }

// Problem is the diagnostic for an unusable file. The caller adds its path.
func Problem() diag.Diagnostic {
	return diag.SourceIgnoreUnusable.At("", "is not a text of at most 64 KiB and 1,000 patterns, so nothing below "+
		"its folder is read").
		WithHint("shorten it, or list the folders to read instead (in a pipeline: sources[].paths)")
}

// Parse parses the file of a folder, which is "." or a clean path from the root of the repository.
func Parse(folder string, text []byte) File {
	if len(text) > MaxBytes {
		return Unusable()
	}
	var domain []string
	if folder != "." {
		domain = strings.Split(folder, "/")
	}
	var f File
	n := 0
	for line := range bytes.Lines(text) {
		n++
		s := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if strings.HasPrefix(s, "#") || strings.TrimSpace(s) == "" {
			continue
		}
		f.patterns = append(f.patterns, pattern{gitignore.ParsePattern(s, domain), n})
		if len(f.patterns) > MaxPatterns {
			return Unusable()
		}
	}
	return f
}

// Rules has the .sourceignore files of a repository, by folder.
type Rules map[string]File

// Ignores reports whether a file is hidden. A .sourceignore does not hide itself.
func (r Rules) Ignores(name string) bool {
	_, _, isHidden := r.HiddenBy(name)
	return isHidden
}

// HiddenBy returns the folder of the .sourceignore that hides a file, if one does, and the line of the pattern, or 0 if
// the .sourceignore is unusable.
func (r Rules) HiddenBy(name string) (folder string, line int, isHidden bool) {
	if len(r) == 0 {
		return "", 0, false
	}
	name = strings.TrimPrefix(path.Clean(name), "/") // so that its folders end at "."
	parts := strings.Split(name, "/")
	folder = path.Dir(name)
	if path.Base(name) == FileName && folder != "." {
		folder = path.Dir(folder)
	} else if path.Base(name) == FileName {
		return "", 0, false
	}
	for ; ; folder = path.Dir(folder) {
		f, ok := r[folder]
		if ok && f.Unusable {
			return folder, 0, true
		}
		for _, pattern := range slices.Backward(f.patterns) {
			if match := pattern.Match(parts, false); match != gitignore.NoMatch {
				return folder, pattern.line, match == gitignore.Exclude
			}
		}
		if folder == "." {
			return folder, 0, false
		}
	}
}
