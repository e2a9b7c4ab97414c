package object

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// AddNote returns a copy of the tree of a notes ref (the zero hash for none) in which commit has the given note
// instead of any older one. Notes of other commits stay where they are, as do the directories into which Git splits
// many notes.
func (w *Writer) AddNote(notes, commit plumbing.Hash, text []byte) (plumbing.Hash, error) {
	name, _, err := findNote(w.Tree, notes, commit)
	if err != nil && !errors.Is(err, ErrPathNotFound) {
		return plumbing.ZeroHash, fmt.Errorf("add note for %s: %w", commit, err)
	}
	return w.EditTree(notes, map[string]Edit{name: {Data: text}})
}

// Note reads the note of a commit. The error is [ErrPathNotFound] if there is none, and [limit.ErrTooLarge] if it
// has more than maxBytes.
func (rd *Reader) Note(notes, commit plumbing.Hash, maxBytes int64) ([]byte, error) {
	_, blob, err := findNote(rd.Tree, notes, commit)
	if err != nil {
		return nil, fmt.Errorf("note for %s: %w", commit, err)
	}
	return rd.Blob(blob, maxBytes)
}

// findNote returns the path and blob of a commit's note. The commit's hexadecimal digits name the note, and pairs of
// them may be directories: "ab/cd/ef...". If there is no note, the path is where to write it: in the deepest such
// directory that exists.
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

// Note is one of the notes of a ref.
type Note struct {
	Path         string // in the ref's tree
	Commit, Blob plumbing.Hash
}

// maxNotesListed is the most notes that [Writer.Notes] lists.
const maxNotesListed = 1_000_000

// Notes lists the notes in the tree of a notes ref, however Git splits it into directories. It ignores other files.
func (w *Writer) Notes(tree plumbing.Hash) ([]Note, error) {
	l := noteLister{w: w}
	if err := l.list(tree, "", ""); err != nil {
		return nil, fmt.Errorf("list notes: %w", err)
	}
	return l.found, nil
}

type noteLister struct {
	w     *Writer
	found []Note
}

// list adds the notes below a directory. digits is its path without slashes.
func (l *noteLister) list(tree plumbing.Hash, path, digits string) error {
	entries, err := l.w.Tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := digits + e.Name
		switch {
		case e.Mode == filemode.Dir && len(e.Name) == 2 && len(name) < len(plumbing.ZeroHash)*2:
			if err := l.list(e.Hash, path+e.Name+"/", name); err != nil {
				return err
			}
		case e.Mode.IsFile() && plumbing.IsHash(name):
			if len(l.found) == maxNotesListed {
				return fmt.Errorf("%w: more than %d", limit.ErrTooLarge, maxNotesListed)
			}
			l.found = append(l.found, Note{path + e.Name, plumbing.NewHash(name), e.Hash})
		}
	}
	return nil
}
