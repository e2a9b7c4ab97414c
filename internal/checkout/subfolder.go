package checkout

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Subfolder is a folder of a commit as the tree of a commit of its own.
type Subfolder struct {
	*Repository
	commit *object.Commit
}

// OpenSubfolder returns a folder of a commit, by its slash-separated path. The folder that the commit does not have is
// empty.
func (r *Repository) OpenSubfolder(commit plumbing.Hash, folder string) (*Subfolder, error) {
	rd := Reader(r)
	defer rd.Close()
	of, err := rd.Commit(commit)
	if err != nil {
		return nil, err
	}
	e, err := rd.Lookup(of.Tree, folder)
	if err != nil || e.Mode != filemode.Dir {
		e.Hash = plumbing.ZeroHash
	}
	return &Subfolder{r, commitOf(e.Hash, fmt.Sprintf("%s of %s", folder, commit))}, nil
}

// ID returns the id of the commit that stands for the folder.
func (s *Subfolder) ID() plumbing.Hash { return s.commit.Hash }

// Has implements [object.Objects].
func (s *Subfolder) Has(h plumbing.Hash) bool { return h == s.commit.Hash || s.Repository.Has(h) }

// Commit implements [object.Objects].
func (s *Subfolder) Commit(h plumbing.Hash) (*object.Commit, error) {
	if h == s.commit.Hash {
		return s.commit, nil
	}
	return s.Repository.Commit(h)
}
