package repo

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// errNoCommit means that not even the commit itself is here.
var errNoCommit = errors.New("commit is not in the cache")

// maxVerified is how many commits are remembered as complete: as many as a round of a fleet
// has refs in one repository, or each round would look at all their trees again.
const maxVerified = 4096

func (r *Repo) isComplete(commit plumbing.Hash) bool { return r.complete(commit) == nil }

// complete checks that a commit and all that its tree names is in the cache.
// What it shares with a tree that was checked before is not looked at again.
func (r *Repo) complete(commit plumbing.Hash) error {
	if _, ok := r.verified[commit]; ok {
		return nil
	}
	rd := r.Reader()
	defer rd.Close()
	if !rd.Has(commit) {
		return errNoCommit
	}
	c, err := rd.Commit(commit)
	if err != nil {
		return err
	}
	v := verifier{rd: rd, seen: map[plumbing.Hash]bool{}}
	if err := v.tree(c.Tree, r.verifiedTree(c.Parents), 0); err != nil {
		return err
	}
	if len(r.verified) >= maxVerified {
		clear(r.verified)
	}
	r.verified[commit] = c.Tree
	return nil
}

// verifiedTree gives a checked tree to compare with, best a parent's.
func (r *Repo) verifiedTree(parents []plumbing.Hash) plumbing.Hash {
	for _, p := range parents {
		if tree, ok := r.verified[p]; ok {
			return tree
		}
	}
	for _, tree := range r.verified {
		return tree
	}
	return plumbing.ZeroHash
}

type verifier struct {
	rd   *Reader
	seen map[plumbing.Hash]bool
}

// tree checks a directory against one at the same place that is known to be
// complete, or the zero hash.
func (v *verifier) tree(tree, known plumbing.Hash, depth int) error {
	if tree == known || v.seen[tree] {
		return nil
	}
	v.seen[tree] = true
	if depth > maxVerifyDepth {
		return fmt.Errorf("%w: directories are nested too deep", ErrTooLarge)
	}
	entries, err := v.rd.Tree(tree)
	if err != nil {
		return err
	}
	checked, err := v.checked(known)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// Both are in git's order. Where a remote has disturbed it, more is looked at.
		for len(checked) > 0 && compareEntries(checked[0], e) < 0 {
			checked = checked[1:]
		}
		var old Entry
		if len(checked) > 0 && checked[0].Name == e.Name {
			old = checked[0]
		}
		if old.Hash == e.Hash {
			continue
		}
		if err := v.entry(e, old, depth); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

// maxVerifyDepth is how deep directories may be nested in a fetched commit.
const maxVerifyDepth = 1000

func (v *verifier) entry(e, old Entry, depth int) error {
	switch {
	case e.Mode == filemode.Submodule:
		return nil // lives in another repository
	case e.Mode == filemode.Dir && old.Mode == filemode.Dir:
		return v.tree(e.Hash, old.Hash, depth+1)
	case e.Mode == filemode.Dir:
		return v.tree(e.Hash, plumbing.ZeroHash, depth+1)
	case !v.rd.Has(e.Hash):
		return fmt.Errorf("%w: %s", ErrObjectNotFound, e.Hash)
	}
	return nil
}

// checked are the entries of a tree that is known to be complete.
func (v *verifier) checked(tree plumbing.Hash) ([]Entry, error) {
	if !v.rd.Has(tree) {
		return nil, nil // dropped with an older cache; nothing to compare with
	}
	return v.rd.Tree(tree)
}
