package object

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// maxComplete limits the remembered commits. A round of a fleet can have this many refs in one repository, and with
// a lower limit would read all their trees again.
const maxComplete = 4096

// maxAncestors limits how far from a commit one is looked for that is known to be complete.
const maxAncestors = 64

// maxCheckDepth limits the nesting of directories in a fetched commit.
const maxCheckDepth = 1000

// Complete remembers the commits that are complete in a database. The zero value is ready for use. It belongs to one
// goroutine.
type Complete struct {
	trees map[plumbing.Hash]plumbing.Hash // from commit to tree
	// trusted are commits whose trees another process has read.
	trusted map[plumbing.Hash]bool
}

// Forget forgets all commits. Call it after objects were removed.
func (c *Complete) Forget() { c.trees, c.trusted = nil, nil }

// Trust takes commits for complete without reading their trees.
func (c *Complete) Trust(commits []plumbing.Hash) {
	c.trusted = map[plumbing.Hash]bool{}
	for _, h := range commits {
		c.trusted[h] = true
	}
}

// Has reports whether a commit is known to be complete.
func (c *Complete) Has(commit plumbing.Hash) bool {
	_, ok := c.trees[commit]
	return ok || c.trusted[commit]
}

// Check checks that a commit and its whole tree are in the database. If not, the error is [ErrNotFound], or
// [ErrNoCommit] if the commit itself is missing. It skips subtrees shared with a commit known to be complete.
func (c *Complete) Check(db *Database, commit plumbing.Hash) error {
	if _, ok := c.trees[commit]; ok {
		return nil
	}
	rd := db.Reader()
	defer rd.Close()
	if !rd.Has(commit) {
		return ErrNoCommit
	}
	content, err := rd.Commit(commit)
	if err != nil {
		return err
	}
	if !c.trusted[commit] {
		v := checker{rd: rd, seen: map[plumbing.Hash]bool{}}
		if err := v.tree(content.Tree, c.nearest(rd, content.Parents), 0); err != nil {
			return err
		}
	}
	if c.trees == nil || len(c.trees) >= maxComplete {
		c.trees = map[plumbing.Hash]plumbing.Hash{}
	}
	c.trees[commit] = content.Tree
	return nil
}

// nearest returns a complete tree to compare with, preferably of the first ancestor that is known.
func (c *Complete) nearest(rd *Reader, parents []plumbing.Hash) plumbing.Hash {
	for range maxAncestors {
		for _, p := range parents {
			if tree, ok := c.trees[p]; ok {
				return tree
			}
		}
		if len(parents) == 0 || !rd.Has(parents[0]) {
			break
		}
		ancestor, err := rd.Commit(parents[0])
		if err != nil {
			break // without an ancestor the check only takes longer
		}
		if c.trusted[parents[0]] {
			return ancestor.Tree
		}
		parents = ancestor.Parents
	}
	for _, tree := range c.trees {
		return tree
	}
	return plumbing.ZeroHash
}

type checker struct {
	rd   *Reader
	seen map[plumbing.Hash]bool
}

// tree checks a directory. known is a complete directory at the same place, or the zero hash.
func (v *checker) tree(tree, known plumbing.Hash, depth int) error {
	if tree == known || v.seen[tree] {
		return nil
	}
	v.seen[tree] = true
	if depth > maxCheckDepth {
		return fmt.Errorf("%w: directories are nested too deep", limit.ErrTooLarge)
	}
	entries, err := v.rd.Tree(tree)
	if err != nil {
		return err
	}
	complete, err := v.complete(known)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// Both are in Git's order. If a remote sent another order, this only checks more entries.
		for len(complete) > 0 && compareEntries(complete[0], e) < 0 {
			complete = complete[1:]
		}
		var old Entry
		if len(complete) > 0 && complete[0].Name == e.Name {
			old = complete[0]
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

func (v *checker) entry(e, old Entry, depth int) error {
	switch {
	case e.Mode == filemode.Submodule:
		return nil // its commit is in another repository
	case e.Mode == filemode.Dir && old.Mode == filemode.Dir:
		return v.tree(e.Hash, old.Hash, depth+1)
	case e.Mode == filemode.Dir:
		return v.tree(e.Hash, plumbing.ZeroHash, depth+1)
	case !v.rd.Has(e.Hash):
		return fmt.Errorf("%w: %s", ErrNotFound, e.Hash)
	}
	return nil
}

// complete returns the entries of a tree known to be complete.
func (v *checker) complete(tree plumbing.Hash) ([]Entry, error) {
	if !v.rd.Has(tree) {
		return nil, nil // the tree was removed with an older cache
	}
	return v.rd.Tree(tree)
}
