package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Reads records what was read from a [Tree], by name: a digest of the content of a file or folder, or only whether it
// exists.
type Reads map[string]string

const (
	aFile   = "file"
	aFolder = "folder"
)

// unsettled is a name that no file has. It is noted if the result depends on something besides the reads.
const unsettled = ""

func kindOf(isDir bool) string {
	if isDir {
		return aFolder
	}
	return aFile
}

// note records a read. A content is not replaced by mere existence, which says less.
func (r Reads) note(name, what string) {
	if _, found := r[name]; !found || what != aFile && what != aFolder {
		r[name] = what
	}
}

const contentPrefix = "content "

func content(text []byte) string { return contentPrefix + digest(text) }

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return string(sum[:16])
}

func listing(entries []fs.DirEntry) string {
	var names strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&names, "%q %v\n", e.Name(), e.Type())
	}
	return "listing " + digest([]byte(names.String()))
}

// Below reports whether the content of a file was read that has that name, or is below it.
func (r Reads) Below(name string) bool {
	for read, what := range r {
		if strings.HasPrefix(what, contentPrefix) && (read == name || strings.HasPrefix(read, name+"/")) {
			return true
		}
	}
	return false
}

// Looked reports whether a file or folder of that name, or below it, was looked for.
func (r Reads) Looked(name string) bool {
	for read := range r {
		if read == name || strings.HasPrefix(read, name+"/") {
			return true
		}
	}
	return false
}

// Digest returns a hexadecimal digest of all reads.
func (r Reads) Digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(h, "%q %q\n", name, r[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Change is a file that differs between two commits.
type Change struct {
	Path string
	// Edited means that the file exists in both commits, with different content.
	Edited bool
}

// Concern reports whether a change can affect one of the reads.
func (r Reads) Concern(c Change) bool {
	if c.Edited {
		what, found := r[c.Path]
		return found && what != aFile
	}
	for name := c.Path; ; name = path.Dir(name) {
		if _, found := r[name]; found {
			return true
		}
		if name == "." {
			return false
		}
	}
}

// Changes are the files that differ between two commits. A nil value has none.
type Changes struct {
	list []Change
	// edited has the files that differ in content only; at has all others, and their parent folders.
	edited, at map[string]bool
}

// NewChanges indexes changes.
func NewChanges(list ...Change) *Changes {
	out := &Changes{list: list, edited: map[string]bool{}, at: map[string]bool{}}
	for _, c := range list {
		if c.Edited {
			out.edited[c.Path] = true
			continue
		}
		for name := c.Path; !out.at[name]; name = path.Dir(name) {
			out.at[name] = true
		}
	}
	return out
}

// Concern reports whether one of the changes can affect one of the reads, in time proportional to the shorter list.
func (c *Changes) Concern(r Reads) bool {
	if c == nil || len(c.list) <= len(r) {
		return c != nil && slices.ContainsFunc(c.list, r.Concern)
	}
	for name, what := range r {
		if c.at[name] || c.edited[name] && what != aFile {
			return true
		}
	}
	return false
}

// Same reports whether files, which differ from those that were read in changed, would be read the same.
func (r Reads) Same(files Files, changed *Changes) bool {
	return r.IsSettled() && (!changed.Concern(r) || r.Hold(files))
}

// IsSettled reports whether the result depends on the reads alone: see [Tree.Unsettle].
func (r Reads) IsSettled() bool {
	_, again := r[unsettled]
	return !again
}

// Hold reports whether files would be read the same.
func (r Reads) Hold(files Files) bool {
	if !r.IsSettled() {
		return false
	}
	for name, what := range r {
		if what != reread(files, name, what) {
			return false
		}
	}
	return true
}

// reread repeats a read in files.
func reread(files Files, name, before string) string {
	info, err := files.Lstat(name)
	if err != nil || name != "." && !info.IsDir() && !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink {
		return "absent"
	}
	kind, _, _ := strings.Cut(before, " ")
	switch {
	case kind == "listing" && info.IsDir():
		if entries, err := files.ReadDir(name); err == nil {
			return listing(entries)
		}
	case kind == "content" && info.Mode().IsRegular():
		if text, err := files.ReadFile(name); err == nil {
			return content(text)
		}
	case kind == "link" && info.Mode().Type() == fs.ModeSymlink:
		if target, err := files.ReadLink(name); err == nil {
			return "link " + digest([]byte(target))
		}
	case info.Mode().Type() != fs.ModeSymlink:
		return kindOf(info.IsDir())
	}
	return ""
}
