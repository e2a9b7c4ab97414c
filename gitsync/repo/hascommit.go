package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentry-dev/agentry/gitsync/repo/store"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
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
	tip, err := newRefs(r.URL(), f.adv).Resolve(ref)
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
