package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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

// Fetch fetches commits into the cache and returns their tips in the order of refs. It does not fetch objects
// that are in the cache. A commit that is named by its hash and is in the cache needs no request. All refs are
// of one moment. Errors wrap those of package transport, or [ErrEmptyRepository], [ErrCache] or
// [limit.ErrTooLarge].
//
// After Fetch every tip's commit is complete in the cache, and all Readers see it. History can be limited to
// [Options.Depth] commits.
func (r *Repo) Fetch(ctx context.Context, refs ...Ref) ([]Tip, error) {
	return r.FetchSince(ctx, time.Now(), refs...)
}

// FetchSince is [Repo.Fetch], but does not list refs again that the remote listed after since: callers of one
// round share one listing, or its failure. Fetching missing objects lists the refs again. Refs that this Repo
// has pushed since count as listed.
//
// If the refs were listed but the fetch of their objects failed, it returns the tips with the error.
func (r *Repo) FetchSince(ctx context.Context, since time.Time, refs ...Ref) ([]Tip, error) {
	tips, err := r.fetchSince(ctx, since, refs)
	return tips, explainDisk(err)
}

func (r *Repo) fetchSince(ctx context.Context, since time.Time, refs []Ref) ([]Tip, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("load the cache of %s: %w", r.URL(), err)
	}
	if tips := r.pinned(refs); tips != nil {
		return tips, nil
	}
	f := &fetch{repo: r, ctx: ctx, client: r.readClient()}
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
			return tips, r.remember(tips)
		}
	}
	if err := f.connect(); err != nil {
		return nil, err
	}
	tips, err := NewRefs(r.URL(), f.adv).resolveAll(refs)
	if err != nil {
		return nil, err
	}
	if err := f.bring(refs, tips); err != nil {
		return tips, err
	}
	return tips, r.remember(tips)
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

// pinned returns the tips without a request if all refs are commits in the cache, otherwise nil.
func (r *Repo) pinned(refs []Ref) []Tip {
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

// isComplete reports whether a commit and everything in its tree is in the cache.
func (r *Repo) isComplete(commit plumbing.Hash) bool {
	return r.complete.Check(r.objects, commit) == nil
}

// remember records tips as the basis of the next fetch.
func (r *Repo) remember(tips []Tip) error {
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
	return r.store.SetTips(r.tips)
}

// tipName returns the name of the local ref for a tip. It is a hash, because names of a remote can conflict
// with older ones ("a" and "a/b") or be invalid as file names.
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
	ctx     context.Context
	client  *transport.Client
	session *transport.Session      // nil if it was used
	adv     transport.Advertisement // of the last session
}

// connect starts a session, which serves one request for a pack.
func (f *fetch) connect() (err error) {
	f.close()
	l := &listing{asked: time.Now()}
	f.session, err = f.client.Start(f.ctx, transport.UploadPack)
	if l.err = err; err == nil {
		f.adv = f.session.Advertised
		l.refs = NewRefs(f.repo.URL(), f.adv)
	}
	f.repo.opts.observe(f.repo.url, OperationList, l.asked, err)
	f.repo.listings.set(f.ctx, l)
	return err
}

func (f *fetch) close() {
	if f.session != nil {
		_ = f.session.Close() // the pack was received, or the error is known
		f.session = nil
	}
}

// bring makes the tips' commits complete in the cache: by a fetch into the existing cache if possible,
// otherwise by a new clone.
func (f *fetch) bring(refs []Ref, tips []Tip) error {
	r := f.repo
	missing := f.missing(tips)
	switch {
	case r.objects.Damaged():
		return f.cloneAnew(refs, tips)
	case len(missing) == 0:
		return nil
	case r.objects.Packs() == 0:
		return f.cloneAnew(refs, tips)
	case r.objects.Packs() > r.opts.MaxPacks && r.compact() != nil:
		return f.cloneAnew(refs, tips)
	}
	err := f.extend(refs, missing)
	if err == nil {
		err = f.check(tips)
	}
	if err == nil || isFinal(f.ctx, err) {
		return err
	}
	// The pack was too large or incomplete: only a new clone can help.
	r.complete.Forget()
	return f.cloneAnew(refs, tips)
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
	_, err := r.objects.Load(r.store) // no object was removed, so complete commits stay complete
	return err
}

// isFinal reports whether a new clone would fail in the same way.
func isFinal(ctx context.Context, err error) bool {
	if ctx.Err() != nil || isDisk(err) {
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

// extend fetches into the existing cache. Refs that were never fetched are limited to Options.Depth; the others
// continue from the cache.
func (f *fetch) extend(refs []Ref, missing []Tip) error {
	var known, fresh []Tip
	for _, t := range missing {
		if _, ok := f.repo.tips[tipName(t)]; ok {
			known = append(known, t)
			continue
		}
		fresh = append(fresh, t)
	}
	if len(known) > 0 {
		if err := f.request(f.repo.store, want{tips: known, maxBytes: f.repo.opts.MaxFetchBytes}); err != nil {
			return err
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return f.request(f.repo.store, f.wantFresh(refs, fresh))
}

// wantFresh requests refs that were never fetched. A commit that is not the value of a ref is requested
// directly if the remote allows that. Otherwise it is searched in the whole history of the branch that its Ref
// names, or of all branches.
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
		w.tips = append(w.tips, searched(names, refs, t)...)
	}
	return w
}

// searched returns the branches whose history can contain a commit.
func searched(names *Refs, refs []Ref, t Tip) []Tip {
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

// cloneAnew fetches the tips into a new repository beside the existing one, and replaces that one.
func (f *fetch) cloneAnew(refs []Ref, tips []Tip) error {
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
	if err := f.request(next, w); err != nil {
		return errors.Join(err, os.RemoveAll(next.Dir))
	}
	old := filepath.Join(r.home, "old")
	err := errors.Join(os.RemoveAll(old), renameIfThere(r.store.Dir, old), os.Rename(next.Dir, r.store.Dir),
		os.RemoveAll(old))
	if err != nil {
		return fmt.Errorf("replace the cache of %s: %w", r.URL(), err)
	}
	r.complete.Forget()
	r.objects.Reset() // a new pack can have the name of a damaged one
	if err := r.load(); err != nil {
		return err
	}
	return f.check(tips)
}

// check returns an error if the remote did not send all tips completely.
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

// renameIfThere renames a folder. It is no error if the folder does not exist.
func renameIfThere(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
