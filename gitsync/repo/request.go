package repo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/store"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

const (
	// maxHaves limits the number of commits that a request names as present.
	maxHaves = 64
	// maxHaveDistance limits their distance from a tip. A branch that was forced back further is fetched like a new
	// one.
	maxHaveDistance = 64
)

// want is one request for a pack.
type want struct {
	tips     []Tip
	depth    int   // commits of history; 0: up to the cached commits
	clone    bool  // ignore the cache
	maxBytes int64 // of the pack
}

// request fetches one pack into st. Each session serves one request, so it starts a new session if necessary.
func (f *fetch) request(ctx context.Context, st store.Store, w want) (err error) {
	if f.session == nil {
		if err := f.connect(ctx); err != nil {
			return err
		}
	}
	began := time.Now()
	defer func() { f.repo.opts.observe(f.repo.url, OperationFetch, began, err) }()
	defer f.close()
	req := f.compose(w)
	answer, err := f.session.Fetch(req)
	if err != nil {
		return err
	}
	if err := f.save(ctx, st, req, answer, w); err != nil {
		return err
	}
	if w.clone {
		return nil
	}
	return f.repo.load()
}

// compose builds the request.
func (f *fetch) compose(w want) transport.FetchRequest {
	var req transport.FetchRequest
	for _, t := range w.tips {
		req.Wants = append(req.Wants, t.Value)
	}
	if !w.clone {
		req.Haves = f.haves(w.tips)
	}
	if !f.adv.Shallow() {
		return req
	}
	if !w.clone {
		req.Shallows = slices.Collect(maps.Keys(f.repo.shallow))
	}
	if w.depth != allHistory || len(req.Shallows) > 0 {
		req.Depth = w.depth
	}
	return req
}

// save stores the response. It writes the shallow boundaries before the pack: a superfluous boundary only makes
// later packs larger, a missing one loses objects.
func (f *fetch) save(ctx context.Context, st store.Store, req transport.FetchRequest, answer *transport.FetchAnswer,
	w want) error {
	shallow := map[plumbing.Hash]struct{}{}
	for _, h := range slices.Concat(req.Shallows, answer.Shallows, f.adv.Shallows) {
		shallow[h] = struct{}{}
	}
	if len(shallow) > len(req.Shallows) {
		if err := st.SetShallow(shallow); err != nil {
			return err
		}
	}
	err := st.Receive(ctx, answer.Pack, store.Limits{
		PackBytes: w.maxBytes, ObjectBytes: f.repo.opts.MaxObjectBytes, AllBytes: f.repo.opts.MaxUnpackedBytes,
		Work: f.repo.opts.Budget.Work,
	})
	cut := answer.Err() != nil || w.clone && errors.Is(err, store.ErrBadPack)
	if err != nil && (cut || ctx.Err() != nil) {
		return f.session.Explain("fetch", errors.Join(answer.Err(), err))
	}
	if err != nil {
		return fmt.Errorf("fetch of %s: %w", f.repo.URL(), err)
	}
	if len(answer.Unshallows) == 0 {
		return nil
	}
	for _, h := range answer.Unshallows {
		delete(shallow, h)
	}
	return st.SetShallow(shallow)
}

// haves returns cached commits that the remote can build on: the last fetched commits of the wanted refs, and
// ancestors at growing distances, because a branch can be rewound and its old tip deleted. For new refs it returns
// commits of all refs. There are few, because each costs the remote time.
func (f *fetch) haves(tips []Tip) []plumbing.Hash {
	r, names := f.repo, map[string]bool{}
	for _, t := range tips {
		if _, known := r.tips[tipName(t)]; known {
			names[tipName(t)] = true
		}
	}
	rd := r.objects.Reader()
	defer rd.Close()
	seen := map[plumbing.Hash]bool{}
	var out []plumbing.Hash
	for _, name := range slices.Sorted(maps.Keys(r.tips)) {
		if len(names) > 0 && !names[name] {
			continue
		}
		for h := range spacedAncestors(rd, r.tips[name]) {
			if !seen[h] && len(out) < maxHaves {
				seen[h] = true
				out = append(out, h)
			}
		}
	}
	return out
}

// spacedAncestors yields a commit and its cached first-parent ancestors 1, 2, 4, 8, ... steps back.
func spacedAncestors(rd *object.Reader, h plumbing.Hash) iter.Seq[plumbing.Hash] {
	return func(yield func(plumbing.Hash) bool) {
		for distance, next := 0, 0; distance <= maxHaveDistance && rd.Has(h); distance++ {
			if distance == next {
				next = max(1, 2*next)
				if !yield(h) {
					return
				}
			}
			c, err := rd.Commit(h)
			if err != nil || len(c.Parents) == 0 {
				return // fewer haves do no harm
			}
			h = c.Parents[0]
		}
	}
}
