package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/store"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// allHistory is the depth that means "no limit" in Git and its protocol.
const allHistory = math.MaxInt32

// Fetch fetches the commits of refs into the cache and returns their tips in the same order. It does not fetch
// objects that are in the cache, and sends no request if all refs are cached commits, named by hash. The tips are
// the state of the remote at one moment. Errors wrap an error of package transport, [ErrEmptyRepository],
// [ErrCache] or [limit.ErrTooLarge].
//
// After Fetch every tip's commit is complete in the cache, and all Readers see it. Its history may be limited to
// [Options.Depth] commits.
func (r *Repo) Fetch(ctx context.Context, refs ...Ref) ([]Tip, error) {
	return r.FetchSince(ctx, time.Now(), refs...)
}

// FetchSince is like [Repo.Fetch], but reuses a listing of the refs (or its failure) newer than since, so that the
// callers of one round share one listing. Fetching missing objects lists the refs again. Refs that this Repo has
// pushed since count as listed.
//
// If the refs were listed but fetching their objects failed, it returns the tips with the error.
func (r *Repo) FetchSince(ctx context.Context, since time.Time, refs ...Ref) ([]Tip, error) {
	tips := make([]Tip, len(refs))
	var missing []Ref
	var at []int
	for i, ref := range refs {
		if h := plumbing.NewHash(ref.Commit); ref.Commit != "" && r.objects.HasAdded(h) {
			tips[i] = Tip{Value: h, Commit: h}
			continue
		}
		missing, at = append(missing, ref), append(at, i)
	}
	if len(missing) == 0 {
		return tips, nil
	}
	fetched, err := r.fetchSince(ctx, since, missing)
	if fetched == nil {
		return nil, explainDisk(err)
	}
	for n, i := range at {
		tips[i] = fetched[n]
	}
	return tips, explainDisk(err)
}

func (r *Repo) fetchSince(ctx context.Context, since time.Time, refs []Ref) ([]Tip, error) {
	if r.local {
		return r.resolveLocal(refs)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("load the cache of %s: %w", r.URL(), err)
	}
	if tips := r.cachedCommits(refs); tips != nil {
		return tips, nil
	}
	f := &fetch{repo: r, client: r.readClient()}
	defer f.close()
	if known := r.listings.since(since); known != nil {
		if known.err != nil {
			return nil, known.err
		}
		tips, err := known.refs.resolveAll(refs)
		if err != nil {
			return nil, err
		}
		if !r.objects.Damaged() && len(f.missing(tips)) == 0 {
			return tips, r.saveTips(tips)
		}
	}
	if err := f.connect(ctx); err != nil {
		return nil, err
	}
	tips, err := NewRefs(r.URL(), f.adv).resolveAll(refs)
	if err != nil {
		return nil, err
	}
	if err := f.download(ctx, refs, tips); err != nil {
		return tips, err
	}
	return tips, r.saveTips(tips)
}

// resolveAll resolves refs in their order.
func (r *Refs) resolveAll(refs []Ref) ([]Tip, error) {
	tips := make([]Tip, len(refs))
	for i, ref := range refs {
		var err error
		if tips[i], err = r.Resolve(ref); err != nil {
			return nil, err
		}
	}
	return tips, nil
}

// resolveLocal resolves refs of a [Local] Repo, which has none, and no commit besides those that were added.
func (r *Repo) resolveLocal(refs []Ref) ([]Tip, error) {
	for _, ref := range refs {
		if ref.Commit != "" {
			return nil, fmt.Errorf("%s of %s: %w", ref, r.url, transport.ErrRefNotFound)
		}
	}
	return r.noRefs().resolveAll(refs)
}

// cachedCommits returns the tips if all refs are commits in the cache, otherwise nil. It needs no request.
func (r *Repo) cachedCommits(refs []Ref) []Tip {
	if r.objects.Damaged() {
		return nil
	}
	tips := make([]Tip, len(refs))
	for i, ref := range refs {
		if !plumbing.IsHash(ref.Commit) {
			return nil
		}
		h := plumbing.NewHash(ref.Commit)
		tips[i] = Tip{Value: h, Commit: h}
		if !r.isComplete(h) {
			return nil
		}
	}
	return tips
}

// HasCached reports whether the cache has a commit and its whole tree. It sends no request.
func (r *Repo) HasCached(ctx context.Context, commit string) (bool, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := r.load(); err != nil {
		return false, explainDisk(fmt.Errorf("load the cache of %s: %w", r.URL(), err))
	}
	return r.cachedCommits([]Ref{{Commit: commit}}) != nil, nil
}

// isComplete reports whether a commit and its whole tree are in the cache.
func (r *Repo) isComplete(commit plumbing.Hash) bool {
	return r.complete.Check(r.objects, commit) == nil
}

// saveTips records tips as the basis of the next fetch.
func (r *Repo) saveTips(tips []Tip) error {
	changed := false
	for _, t := range tips {
		if t.Exists() && r.tips[tipName(t)] != t.Commit {
			r.tips[tipName(t)] = t.Commit
			changed = true
		}
	}
	if !changed {
		return nil
	}
	var complete []plumbing.Hash // those that this process has not asked for may be incomplete
	for _, name := range slices.Sorted(maps.Keys(r.tips)) {
		if r.complete.Has(r.tips[name]) {
			complete = append(complete, r.tips[name])
		}
	}
	return r.store.SetTips(r.tips, complete)
}

// tipName returns the name of the local ref for a tip. It is a hash, because a remote's names can conflict with
// earlier ones ("a" and "a/b") or be invalid as file names.
func tipName(t Tip) string {
	name := t.Ref
	if name == "" {
		name = t.Commit.String()
	}
	sum := sha256.Sum256([]byte(name))
	return "refs/agentry/" + hex.EncodeToString(sum[:8])
}

// fetch is one run of Fetch. It has at most one session with the remote.
type fetch struct {
	repo    *Repo
	client  *transport.Client
	session *transport.Session      // nil after use
	adv     transport.Advertisement // of the last session
}

// connect starts a session, which serves one request for a pack.
func (f *fetch) connect(ctx context.Context) (err error) {
	f.close()
	l := &listing{asked: time.Now()}
	f.session, err = f.client.Start(ctx, transport.UploadPack)
	if l.err = err; err == nil {
		f.adv = f.session.Advertised
		l.refs = NewRefs(f.repo.URL(), f.adv)
	}
	f.repo.opts.observe(f.repo.url, OperationList, l.asked, err)
	f.repo.listings.set(ctx, l)
	return err
}

func (f *fetch) close() {
	if f.session != nil {
		_ = f.session.Close() // the pack was received, or the error is known
		f.session = nil
	}
}

// download makes the tips' commits complete in the cache: by a fetch into the existing cache if possible,
// otherwise by a new clone.
func (f *fetch) download(ctx context.Context, refs []Ref, tips []Tip) error {
	r := f.repo
	missing := f.missing(tips)
	switch {
	case r.objects.Damaged():
		return f.reclone(ctx, refs, tips)
	case len(missing) == 0:
		return nil
	case r.objects.Packs() == 0:
		return f.reclone(ctx, refs, tips)
	case r.objects.Packs() > r.opts.MaxPacks && r.compact() != nil:
		return f.reclone(ctx, refs, tips)
	}
	err := f.extend(ctx, refs, missing)
	if err == nil {
		err = f.check(tips)
	}
	if err == nil || isFinal(ctx, err) {
		return err
	}
	// The pack was too large or incomplete; only a new clone can help.
	r.complete.Forget()
	return f.reclone(ctx, refs, tips)
}

// missing returns the tips whose commits are not complete in the cache.
func (f *fetch) missing(tips []Tip) []Tip {
	var out []Tip
	for _, t := range tips {
		if t.Exists() && !f.repo.isComplete(t.Commit) {
			out = append(out, t)
		}
	}
	return out
}

// compact joins small packs.
func (r *Repo) compact() error {
	if err := r.objects.Compact(r.store); err != nil {
		return err
	}
	_, err := r.objects.Load(r.store) // compacting removes no object, so complete commits stay complete
	return err
}

// isFinal reports whether a new clone would fail in the same way.
func isFinal(ctx context.Context, err error) bool {
	if ctx.Err() != nil || isDiskError(err) {
		return true
	}
	for _, kind := range []error{transport.ErrUnreachable, transport.ErrAuth, transport.ErrHostKey,
		transport.ErrRepositoryNotFound, transport.ErrRefNotFound} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// extend fetches into the existing cache. The history of new refs is limited to Options.Depth; known refs continue
// from the cache.
func (f *fetch) extend(ctx context.Context, refs []Ref, missing []Tip) error {
	var known, fresh []Tip
	for _, t := range missing {
		if _, ok := f.repo.tips[tipName(t)]; ok {
			known = append(known, t)
			continue
		}
		fresh = append(fresh, t)
	}
	if len(known) > 0 {
		if err := f.request(ctx, f.repo.store, want{tips: known, maxBytes: f.repo.opts.MaxFetchBytes}); err != nil {
			return err
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return f.request(ctx, f.repo.store, f.wantFresh(refs, fresh))
}

// wantFresh makes the request for refs that were never fetched. It names a commit that is not the value of a ref
// directly if the remote allows that, otherwise the whole history of the Ref's branch, or of all branches.
func (f *fetch) wantFresh(refs []Ref, fresh []Tip) want {
	w := want{depth: f.repo.opts.Depth, maxBytes: f.repo.opts.MaxCloneBytes}
	allowed := f.adv.AnyCommit()
	names := NewRefs(f.repo.URL(), f.adv)
	values := map[plumbing.Hash]bool{}
	for _, v := range f.adv.References {
		values[v] = true
	}
	for _, t := range fresh {
		if allowed || values[t.Value] {
			w.tips = append(w.tips, t)
			continue
		}
		w.depth = allHistory
		w.tips = append(w.tips, branchesToSearch(names, refs, t)...)
	}
	return w
}

// branchesToSearch returns the branches whose history may contain a commit.
func branchesToSearch(names *Refs, refs []Ref, t Tip) []Tip {
	for _, ref := range refs {
		branch := names.Tip(headsPrefix + ref.Branch)
		if ref.Commit == t.Commit.String() && ref.Branch != "" && branch.Exists() {
			return []Tip{branch}
		}
	}
	var out []Tip
	for _, short := range names.Names(headsPrefix) {
		out = append(out, names.Tip(headsPrefix+short))
	}
	return out
}

// reclone fetches the tips into a new repository beside the existing one, and replaces that one.
func (f *fetch) reclone(ctx context.Context, refs []Ref, tips []Tip) error {
	r := f.repo
	wanted := slices.DeleteFunc(slices.Clone(tips), func(t Tip) bool { return !t.Exists() })
	if len(wanted) == 0 {
		return nil
	}
	next := store.Store{Dir: filepath.Join(r.home, "new")}
	if err := errors.Join(os.RemoveAll(next.Dir), next.Create(r.URL())); err != nil {
		return err
	}
	w := f.wantFresh(refs, wanted)
	w.clone = true
	if err := f.request(ctx, next, w); err != nil {
		return errors.Join(err, os.RemoveAll(next.Dir))
	}
	old := filepath.Join(r.home, "old")
	err := errors.Join(os.RemoveAll(old), renameIfThere(r.store.Dir, old), os.Rename(next.Dir, r.store.Dir),
		os.RemoveAll(old))
	if err != nil {
		return fmt.Errorf("replace the cache of %s: %w", r.URL(), err)
	}
	r.complete.Forget()
	r.objects.Reset() // because a new pack can have the name of a damaged one
	if err := r.load(); err != nil {
		return err
	}
	return f.check(tips)
}

// check returns an error unless all tips are complete in the cache.
func (f *fetch) check(tips []Tip) error {
	for _, t := range tips {
		if !t.Exists() {
			continue
		}
		err := f.repo.complete.Check(f.repo.objects, t.Commit)
		if t.Ref == "" && errors.Is(err, object.ErrNoCommit) {
			return fmt.Errorf("commit %s of %s: %w", t.Commit, f.repo.URL(), transport.ErrRefNotFound)
		}
		if err != nil {
			return fmt.Errorf("commit %s of %s was sent incompletely: %w", t.Commit, f.repo.URL(), err)
		}
	}
	return nil
}

// renameIfThere renames a folder. It is not an error if the folder does not exist.
func renameIfThere(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
