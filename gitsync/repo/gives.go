package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
)

// Gives tells whether the remote has a commit still, for those who have nothing of it: a cache
// may hold what was forced away. ref is a commit, with the branch to look for it. What is sent
// for an answer is thrown away.
func (r *Repo) Gives(ctx context.Context, ref Ref) (bool, error) {
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
	tip, err := newRefs(r.at.normal(), f.adv).Resolve(ref)
	if err != nil {
		return false, err
	}
	w := f.wantFresh([]Ref{ref}, []Tip{tip})
	w.clone = true
	if w.depth != allHistory {
		w.depth = 1 // it is asked for by its hash
	}
	asked := store{filepath.Join(r.home, "asked")}
	defer os.RemoveAll(asked.dir) // nobody needs it, and the next answer takes its place
	if err := errors.Join(os.RemoveAll(asked.dir), asked.create(r.at.normal())); err != nil {
		return false, err
	}
	err = f.request(asked, w)
	if errors.Is(err, ErrRefNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask %s for commit %s: %w", r.at.normal(), tip.Commit, err)
	}
	return asked.has(tip.Commit)
}

// has tells whether a store that nobody has open holds an object.
func (s store) has(h plumbing.Hash) (bool, error) {
	names, err := s.packs()
	if err != nil {
		return false, err
	}
	for _, name := range names {
		p, err := openPack(s.packDir(), name)
		if err != nil {
			return false, err
		}
		found := p.has(h)
		closeAll([]*pack{p})
		if found {
			return true, nil
		}
	}
	return false, nil
}
