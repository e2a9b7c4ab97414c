package repo

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Entry is one name in a directory: a file, an executable, a symlink, a
// directory or a submodule, by its mode. The zero Entry is none.
type Entry = object.TreeEntry

// emptyTree is the hash of a directory without entries.
func emptyTree() plumbing.Hash {
	return plumbing.ComputeHash(plumbing.TreeObject, nil)
}

// decodeTree splits a tree object: "<octal mode> <name>\0<20 bytes of hash>",
// again and again.
func decodeTree(raw []byte) ([]Entry, error) {
	var out []Entry
	for len(raw) > 0 {
		head, rest, ok := bytes.Cut(raw, []byte{0})
		mode, name, ok2 := bytes.Cut(head, []byte{' '})
		var hash plumbing.Hash
		if !ok || !ok2 || len(rest) < len(hash) || !isName(string(name)) {
			return nil, fmt.Errorf("malformed entry %q", name)
		}
		m, err := filemode.New(string(mode))
		if err != nil {
			return nil, fmt.Errorf("mode %q of %q: %w", mode, name, err)
		}
		raw = rest[copy(hash[:], rest):]
		out = append(out, Entry{Name: string(name), Mode: m, Hash: hash})
	}
	return out, nil
}

// isName tells whether a tree may hold that name. No git writes others, so they
// are meant to mislead those who join them to a path.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// encodeTree is the reverse; it sorts entries in place.
func encodeTree(entries []Entry) []byte {
	slices.SortFunc(entries, compareEntries)
	var buf bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&buf, "%o %s\x00", uint32(e.Mode), e.Name)
		buf.Write(e.Hash[:])
	}
	return buf.Bytes()
}

// compareEntries is git's order: by bytes, where a directory's name counts as
// if it ended in a slash.
func compareEntries(a, b Entry) int {
	return strings.Compare(sortName(a), sortName(b))
}

func sortName(e Entry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

func entryNamed(entries []Entry, name string) (Entry, bool) {
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return entries[i], true
}
