package repo

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// AddNote makes the tree of a notes ref in which commit has the given note, in
// place of an older one. notes is the tree of the ref's commit, or the zero hash.
// Notes of other commits stay where they are, and so do the directories that
// git splits many notes into.
func (w *Writer) AddNote(notes, commit plumbing.Hash, text []byte) (plumbing.Hash, error) {
	name, _, err := findNote(w.Tree, notes, commit)
	if err != nil && !errors.Is(err, ErrPathNotFound) {
		return plumbing.ZeroHash, fmt.Errorf("add note for %s: %w", commit, err)
	}
	return w.EditTree(notes, map[string]Edit{name: {Data: text}})
}

// Note reads the note for a commit, at most maxBytes of it. There being none is
// ErrPathNotFound.
func (rd *Reader) Note(notes, commit plumbing.Hash, maxBytes int64) ([]byte, error) {
	_, blob, err := findNote(rd.Tree, notes, commit)
	if err != nil {
		return nil, fmt.Errorf("note for %s: %w", commit, err)
	}
	return rd.Blob(blob, maxBytes)
}

// findNote gives the path of a commit's note and its blob. A note is named by
// the commit's hexadecimal digits, of which pairs may have become directories:
// "ab/cd/ef...". Without a note the path is where it belongs, in the deepest
// directory of that kind that exists.
func findNote(tree func(plumbing.Hash) ([]Entry, error), notes, commit plumbing.Hash) (string, plumbing.Hash, error) {
	dir, rest := "", commit.String()
	for {
		entries, err := tree(notes)
		if err != nil {
			return "", plumbing.ZeroHash, err
		}
		if e, ok := entryNamed(entries, rest); ok && e.Mode != filemode.Dir {
			return dir + rest, e.Hash, nil
		}
		e, ok := entryNamed(entries, rest[:2])
		if !ok || e.Mode != filemode.Dir || len(rest) == 2 {
			return dir + rest, plumbing.ZeroHash, ErrPathNotFound
		}
		dir, rest, notes = dir+rest[:2]+"/", rest[2:], e.Hash
	}
}
