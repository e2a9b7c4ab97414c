// Package sourceignore decides which files of a repository its .sourceignore files hide, as Flux does
// (fluxcd/pkg/sourceignore). The patterns are those of .gitignore. Each file applies to its own folder and
// what is below. Of all patterns that match a path, the last one of the deepest file wins. A pattern with
// "!" can include a file of an ignored folder again, which git itself does not do.
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
	// MaxBytes is the largest file that is used.
	MaxBytes = 64 << 10
	// MaxPatterns is how many patterns one file may have: every path is compared with each.
	MaxPatterns = 1000
)

// File is one .sourceignore.
type File struct {
	patterns []gitignore.Pattern
	// Unusable files hide everything below their folder: nobody knows what they were to hide.
	Unusable bool
}

// Unusable is a file that is too large or cannot be read.
func Unusable() File { return File{Unusable: true} }

// Problem is the diagnostic for an unusable file. The caller adds its path.
func Problem() diag.Diagnostic {
	return diag.SourceIgnoreUnusable.At("", "is not a text of at most 64 KiB and 1,000 patterns, so nothing below "+
		"its folder is read").
		WithHint("shorten it, or name the folders to read instead, in a pipeline as sources[].paths")
}

// Parse reads the file of a folder, which is "." or a clean path from the repository's root.
func Parse(folder string, text []byte) File {
	if len(text) > MaxBytes {
		return Unusable()
	}
	var domain []string
	if folder != "." {
		domain = strings.Split(folder, "/")
	}
	var f File
	for line := range bytes.Lines(text) {
		s := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if strings.HasPrefix(s, "#") || strings.TrimSpace(s) == "" {
			continue
		}
		if f.patterns = append(f.patterns, gitignore.ParsePattern(s, domain)); len(f.patterns) > MaxPatterns {
			return Unusable()
		}
	}
	return f
}

// Rules are the files of a repository by folder.
type Rules map[string]File

// Ignores reports whether the file of that path is hidden. A .sourceignore does not hide
// itself.
func (r Rules) Ignores(name string) bool {
	if len(r) == 0 {
		return false
	}
	name = strings.TrimPrefix(path.Clean(name), "/") // or the folders above would not end at "."
	parts := strings.Split(name, "/")
	folder := path.Dir(name)
	if path.Base(name) == FileName && folder != "." {
		folder = path.Dir(folder)
	} else if path.Base(name) == FileName {
		return false
	}
	for ; ; folder = path.Dir(folder) {
		f, ok := r[folder]
		if ok && f.Unusable {
			return true
		}
		for _, pattern := range slices.Backward(f.patterns) {
			if match := pattern.Match(parts, false); match != gitignore.NoMatch {
				return match == gitignore.Exclude
			}
		}
		if folder == "." {
			return false
		}
	}
}
