package object

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Entry is one name in a directory: according to its mode a file, an executable, a symlink, a directory or a
// submodule. The zero Entry means none.
type Entry = object.TreeEntry

// emptyTree returns the hash of the empty tree.
func emptyTree() plumbing.Hash {
	return plumbing.Hash{0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88,
		0xfb, 0xee, 0x49, 0x04}
}

// bytesPerEntry is the approximate length of an entry of a tree object.
const bytesPerEntry = 36

// DecodeTree splits the content of a tree object into its entries: "<octal mode> <name>\0<20 bytes of hash>".
func DecodeTree(raw []byte) ([]Entry, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	text := string(raw) // one copy, which the names share
	out := make([]Entry, 0, len(text)/bytesPerEntry+1)
	for len(text) > 0 {
		head, rest, ok := strings.Cut(text, "\x00")
		mode, name, ok2 := strings.Cut(head, " ")
		var hash plumbing.Hash
		if !ok || !ok2 || len(rest) < len(hash) || !isName(name) {
			return nil, fmt.Errorf("malformed entry %q", name)
		}
		m, err := filemode.New(mode)
		if err != nil {
			return nil, fmt.Errorf("mode %q of %q: %w", mode, name, err)
		}
		text = rest[copy(hash[:], rest):]
		out = append(out, Entry{Name: name, Mode: m, Hash: hash})
	}
	return out, nil
}

// isName reports whether Git would write that name into a tree. Any other name is an attack on programs that join it
// to a path.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// encodeTree is the inverse of DecodeTree. It sorts entries in place.
func encodeTree(entries []Entry) []byte {
	SortTree(entries)
	var buf []byte
	for _, e := range entries {
		buf = strconv.AppendUint(buf, uint64(e.Mode), 8)
		buf = append(buf, ' ')
		buf = append(buf, e.Name...)
		buf = append(buf, 0)
		buf = append(buf, e.Hash[:]...)
	}
	return buf
}

// SortTree sorts the entries of a directory in Git's order.
func SortTree(entries []Entry) { slices.SortFunc(entries, compareEntries) }

// HashTree returns the hash of a directory with these entries. It sorts entries in place.
func HashTree(entries []Entry) plumbing.Hash {
	return plumbing.ComputeHash(plumbing.TreeObject, encodeTree(entries))
}

// compareEntries compares in Git's order: by bytes, as if the name of a directory ended in a slash.
func compareEntries(a, b Entry) int {
	n := min(len(a.Name), len(b.Name))
	return cmp.Or(strings.Compare(a.Name[:n], b.Name[:n]), cmp.Compare(sortByte(a, n), sortByte(b, n)))
}

// sortByte returns byte n of the name, or at its end '/' for a directory and 0, which no name contains, otherwise.
func sortByte(e Entry, n int) byte {
	switch {
	case n < len(e.Name):
		return e.Name[n]
	case e.Mode == filemode.Dir:
		return '/'
	}
	return 0
}

func entryNamed(entries []Entry, name string) (Entry, bool) {
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return entries[i], true
}
