package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/store"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/go-git/go-git/v5/plumbing"
)

// HasCommit reports whether the remote still has a commit and sends it. The cache does not tell, because it can
// contain commits that a forced push removed. ref is a commit, with the branch to search. What the remote sends
// is discarded.
func (r *Repo) HasCommit(ctx context.Context, ref Ref) (bool, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	f := &fetch{repo: r, ctx: ctx, client: r.readClient()}
	defer f.close()
	if err := f.connect(); err != nil {
		return false, err
	}
	tip, err := NewRefs(r.URL(), f.adv).Resolve(ref)
	if err != nil {
		return false, err
	}
	w := f.wantFresh([]Ref{ref}, []Tip{tip})
	w.clone = true
	if w.depth != allHistory {
		w.depth = 1 // it is requested by its hash
	}
	asked := store.Store{Dir: filepath.Join(r.home, "asked")}
	defer os.RemoveAll(asked.Dir) // if this fails, the next call replaces the folder
	if err := errors.Join(os.RemoveAll(asked.Dir), asked.Create(r.URL())); err != nil {
		return false, err
	}
	err = f.request(asked, w)
	if errors.Is(err, transport.ErrRefNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask %s for commit %s: %w", r.URL(), tip.Commit, err)
	}
	return asked.Has(tip.Commit)
}

// IsAncestor reports whether a commit is a head, or in the history of a head that is in the cache. If the cached
// history is too short to tell, it fetches all of it.
func (r *Repo) IsAncestor(ctx context.Context, id, head plumbing.Hash) (bool, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := r.load(); err != nil {
		return false, fmt.Errorf("load the cache of %s: %w", r.URL(), err)
	}
	found, isComplete, err := r.searchHistory(id, head)
	if found || isComplete || err != nil {
		return found, err
	}
	f := &fetch{repo: r, ctx: ctx, client: r.readClient()}
	defer f.close()
	if err := f.connect(); err != nil {
		return false, err
	}
	all := want{tips: []Tip{{Value: head, Commit: head}}, depth: allHistory, maxBytes: r.opts.MaxCloneBytes}
	if err := f.request(r.store, all); err != nil {
		return false, err
	}
	found, _, err = r.searchHistory(id, head)
	return found, err
}

// HasAncestor reports whether a commit is a head, or in the cached history of a head.
func (r *Repo) HasAncestor(id, head plumbing.Hash) (bool, error) {
	found, _, err := r.searchHistory(id, head)
	return found, err
}

// searchHistory searches the cached history of a commit, and reports whether it is complete.
func (r *Repo) searchHistory(id, head plumbing.Hash) (found, isComplete bool, err error) {
	rd := r.objects.Reader()
	defer rd.Close()
	isComplete = true
	seen := map[plumbing.Hash]bool{head: true}
	for next := []plumbing.Hash{head}; len(next) > 0; next = next[1:] {
		if next[0] == id {
			return true, isComplete, nil
		}
		c, err := rd.Commit(next[0])
		if errors.Is(err, object.ErrNotFound) {
			isComplete = false // the end of a shallow history
			continue
		}
		if err != nil {
			return false, false, err
		}
		for _, parent := range c.Parents {
			if !seen[parent] {
				seen[parent] = true
				next = append(next, parent)
			}
		}
	}
	return false, isComplete, nil
}
