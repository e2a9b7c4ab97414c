package object

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

func TestDirectoriesAreKeptWithinTheLimit(t *testing.T) {
	hash := func(n int) plumbing.Hash { return plumbing.Hash{byte(n), byte(n >> 8), 1} }
	var all directories
	d := &all.large
	all.put(hash(2), make([]Entry, maxKeptEntries+1))
	if _, ok := all.get(hash(2)); ok {
		t.Error("a directory beyond the limit is kept")
	}
	const size = maxKeptEntries / 4
	for n := range 5 {
		d.put(hash(10+n), make([]Entry, size))
		d.put(hash(10+n), make([]Entry, size)) // is there
		if kept := min(n+1, 4); len(d.known) != kept || len(d.order) != kept || d.entries != kept*size {
			t.Errorf("after %d: %d directories in %d places with %d entries", n+1, len(d.known), len(d.order),
				d.entries)
		}
	}
	if _, ok := d.get(hash(10)); ok {
		t.Error("the oldest is kept")
	}
	if entries, ok := d.get(hash(14)); !ok || len(entries) != size {
		t.Error("the newest is not")
	}
	for n := range maxKeptEntries {
		all.put(hash(100+n), make([]Entry, 2))
	}
	if _, ok := all.get(hash(14)); !ok {
		t.Error("many small directories make a large one go")
	}
	if _, ok := all.get(hash(100 + maxKeptEntries - 1)); !ok {
		t.Error("the newest of the small ones is not kept")
	}
	all.forget()
	if _, ok := d.get(hash(14)); ok || d.entries != 0 {
		t.Error("something is left")
	}
}

// TestNewDirectoriesAreDecodedOnce: after a push, the folder of each unit is looked up in one directory. Decoding it
// each time cost the square of their number.
func TestNewDirectoriesAreDecodedOnce(t *testing.T) {
	w := NewWriter(nil)
	var entries []Entry
	for n := range 10 * largeEntries {
		name := fmt.Sprintf("unit-%04d", n)
		entries = append(entries, Entry{Name: name, Mode: filemode.Regular, Hash: plumbing.Hash{1}})
	}
	tree := w.put(plumbing.TreeObject, encodeTree(entries))
	var read [2][]Entry
	for i := range read {
		var err error
		if read[i], err = w.Tree(tree); err != nil || !slices.Equal(read[i], entries) {
			t.Fatal(err)
		}
	}
	if &read[0][0] != &read[1][0] {
		t.Error("it is decoded again")
	}
}

// TestOrderOfNamesIsGits compares with the definition: a directory counts as if its name
// ended in a slash.
func TestOrderOfNamesIsGits(t *testing.T) {
	var entries []Entry
	for _, name := range []string{"a", "a-b", "a.b", "a0", "ab", "b", "a b", "a\xff"} {
		entries = append(entries, Entry{Name: name, Mode: filemode.Regular}, Entry{Name: name, Mode: filemode.Dir})
	}
	sortName := func(e Entry) string {
		if e.Mode == filemode.Dir {
			return e.Name + "/"
		}
		return e.Name
	}
	for _, a := range entries {
		for _, b := range entries {
			if got, want := compareEntries(a, b), strings.Compare(sortName(a), sortName(b)); got != want {
				t.Errorf("%q %s to %q %s: %d, want %d", a.Name, a.Mode, b.Name, b.Mode, got, want)
			}
		}
	}
}

func TestTheEmptyTree(t *testing.T) {
	if got, want := emptyTree(), plumbing.ComputeHash(plumbing.TreeObject, nil); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestEntriesAreWrittenAsGitDoes: the bytes decide the hash.
func TestEntriesAreWrittenAsGitDoes(t *testing.T) {
	got := string(encodeTree([]Entry{{Name: "b", Mode: filemode.Regular}, {Name: "a", Mode: filemode.Dir},
		{Name: "a-", Mode: filemode.Executable}}))
	zero := strings.Repeat("\x00", 20)
	want := fmt.Sprintf("100755 a-\x00%[1]s40000 a\x00%[1]s100644 b\x00%[1]s", zero)
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
