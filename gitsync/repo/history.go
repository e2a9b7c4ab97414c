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

// HasCommit reports whether the remote still has a commit and sends it. It does not ask the cache, which may contain
// commits that a forced push removed, and discards what the remote sends. ref names a commit, and the branch to
// search.
func (r *Repo) HasCommit(ctx context.Context, ref Ref) (bool, error) {
	if r.local {
		return r.objects.HasAdded(plumbing.NewHash(ref.Commit)), nil
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	f := &fetch{repo: r, client: r.readClient()}
	defer f.close()
	if err := f.connect(ctx); err != nil {
		return false, err
	}
	tip, err := NewRefs(r.URL(), f.adv).Resolve(ref)
	if err != nil {
		return false, err
	}
	w := f.wantFresh([]Ref{ref}, []Tip{tip})
	w.clone = true
	if w.depth != allHistory {
		w.depth = 1 // the commit is requested by hash
	}
	scratch := store.Store{Dir: filepath.Join(r.home, "asked")}
	defer os.RemoveAll(scratch.Dir) // if this fails, the next call replaces the folder
	if err := errors.Join(os.RemoveAll(scratch.Dir), scratch.Create(r.URL())); err != nil {
		return false, err
	}
	err = f.request(ctx, scratch, w)
	if errors.Is(err, transport.ErrRefNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask %s for commit %s: %w", r.URL(), tip.Commit, err)
	}
	return scratch.Has(tip.Commit)
}

// IsAncestor reports whether a commit is head or in the history of head, which must be in the cache. If the cached
// history is too short to tell, it fetches the whole history.
func (r *Repo) IsAncestor(ctx context.Context, id, head plumbing.Hash) (bool, error) {
	if r.local {
		return r.HasAncestor(id, head)
	}
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
	f := &fetch{repo: r, client: r.readClient()}
	defer f.close()
	if err := f.connect(ctx); err != nil {
		return false, err
	}
	all := want{tips: []Tip{{Value: head, Commit: head}}, depth: allHistory, maxBytes: r.opts.MaxCloneBytes}
	if err := f.request(ctx, r.store, all); err != nil {
		return false, err
	}
	found, _, err = r.searchHistory(id, head)
	return found, err
}

// HasAncestor reports whether a commit is head or in the cached history of head.
func (r *Repo) HasAncestor(id, head plumbing.Hash) (bool, error) {
	found, _, err := r.searchHistory(id, head)
	return found, err
}

// searchHistory looks for id in the cached history of head, and reports whether that history is complete.
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
