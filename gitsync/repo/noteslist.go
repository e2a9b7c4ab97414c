package repo

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Note is one of the notes of a ref.
type Note struct {
	Path         string // in the ref's tree
	Commit, Blob plumbing.Hash
}

// maxNotesListed bounds what [Writer.Notes] lists.
const maxNotesListed = 1_000_000

// Notes lists the notes in the tree of a notes ref, in whatever directories git has put them.
// Other files in it are passed over.
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

// list walks a directory whose path is made of the given digits.
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
				return fmt.Errorf("%w: more than %d", ErrTooLarge, maxNotesListed)
			}
			l.found = append(l.found, Note{path + e.Name, plumbing.NewHash(name), e.Hash})
		}
	}
	return nil
}
