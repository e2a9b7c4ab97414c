package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/signature"
)

// Batches collects the writes of a process's passes to the refs that all pipelines of a repository share, so that a
// fleet makes few commits there. Lock files are written with the next push; notes wait a moment for others. It is
// safe for concurrent use.
type Batches struct {
	delay time.Duration

	mu     sync.Mutex
	groups map[string]*batchGroup // by URL
	timers sync.WaitGroup
}

// NewBatches returns Batches that collect notes for the given time after the first one. If it is zero, each pass
// pushes its own note before it ends. The caller must call [Batches.Flush] at the end.
func NewBatches(delay time.Duration) *Batches {
	return &Batches{delay: delay, groups: map[string]*batchGroup{}}
}

// batchGroup has the collected writes to one repository. Batches.mu guards all fields except locking and noting.
type batchGroup struct {
	locking chan struct{} // a semaphore of one, whose holder writes lock files
	locks   []*lockEntry
	noting  chan struct{}            // a semaphore of one, whose holder writes notes
	notes   map[string]Note          // the waiting notes, by pipeline
	push    *notesPush               // the running push, or nil
	tips    map[string]plumbing.Hash // the commit with the last note, by pipeline
	timer   *time.Timer
	refused error // the error of the last push of notes
}

func (b *Batches) group(r *repo.Repo) *batchGroup {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.groups[r.URL()]
	if g == nil {
		g = &batchGroup{locking: make(chan struct{}, 1), noting: make(chan struct{}, 1), notes: map[string]Note{},
			tips: map[string]plumbing.Hash{}}
		b.groups[r.URL()] = g
	}
	return g
}

// Writer writes commits to a repository.
type Writer struct {
	Repo   *repo.Repo
	Pusher *repo.Pusher
	Sign   signature.Func // nil leaves commits unsigned
	Author object.Signature
}

// Commit makes a commit of a tree. It does not push it.
func (wr Writer) Commit(w *object.Writer, tree plumbing.Hash, message string, parents ...plumbing.Hash) (plumbing.Hash,
	error) {
	return w.Commit(object.CommitOptions{Tree: tree, Parents: parents, Author: wr.Author, Committer: wr.Author,
		Message: message, Sign: wr.Sign})
}

// maxRefAttempts limits the attempts to push to a shared ref that others push to at the same time.
const maxRefAttempts = 10

// extend adds a commit to a shared ref and returns its new tip. build makes the commit on top of a tip, and returns
// zero if there is nothing to add. If others move the ref, extend builds the commit again on the new tip.
func (wr Writer) extend(ctx context.Context, ref string, since time.Time,
	build func(rd *object.Reader, w *object.Writer, tip repo.Tip) (plumbing.Hash, error)) (plumbing.Hash, error) {
	return repo.Retry(ctx, maxRefAttempts, since, func(ctx context.Context, since time.Time) (plumbing.Hash, error) {
		tips, err := wr.Repo.FetchSince(ctx, since, repo.Ref{Name: ref, Optional: true})
		if err != nil {
			return plumbing.ZeroHash, err
		}
		return wr.try(ctx, ref, tips[0], build)
	})
}

func (wr Writer) try(ctx context.Context, ref string, tip repo.Tip,
	build func(*object.Reader, *object.Writer, repo.Tip) (plumbing.Hash, error)) (plumbing.Hash, error) {
	rd := wr.Repo.Reader()
	defer rd.Close()
	w := object.NewWriter(rd)
	commit, err := build(rd, w, tip)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("extend %s: %w", ref, err)
	}
	if commit.IsZero() {
		return tip.Commit, nil
	}
	return commit, wr.Pusher.Push(ctx, w, repo.Update{Ref: ref, Old: tip.Value, New: commit})
}

// commit makes a commit on top of a tip.
func (wr Writer) commit(w *object.Writer, tip repo.Tip, tree plumbing.Hash, message string) (plumbing.Hash, error) {
	var parents []plumbing.Hash
	if tip.Exists() {
		parents = append(parents, tip.Commit)
	}
	return wr.Commit(w, tree, message, parents...)
}

// treeOf returns the tree of a tip, or zero if the tip does not exist.
func treeOf(rd *object.Reader, tip repo.Tip) (plumbing.Hash, error) {
	if !tip.Exists() {
		return plumbing.ZeroHash, nil
	}
	c, err := rd.Commit(tip.Commit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return c.Tree, nil
}

// lockEntry is a lock file waiting to be written.
type lockEntry struct {
	Lock
	gone bool // whether its caller no longer waits; guarded by Batches.mu

	// The holder of batchGroup.locking sets these.
	done   bool
	commit plumbing.Hash
	err    error
}

// Lock writes a lock file, together with all others that arrive until the previous push is done. It returns a commit
// with the file.
func (b *Batches) Lock(ctx context.Context, l Lock) (plumbing.Hash, error) {
	e := &lockEntry{Lock: l}
	g := b.group(l.Repo)
	b.mu.Lock()
	g.locks = append(g.locks, e)
	b.mu.Unlock()
	select {
	case g.locking <- struct{}{}:
	case <-ctx.Done():
		b.mu.Lock()
		e.gone = true
		g.locks = slices.DeleteFunc(g.locks, func(other *lockEntry) bool { return other == e })
		b.mu.Unlock()
		return plumbing.ZeroHash, context.Cause(ctx)
	}
	defer func() { <-g.locking }()
	if e.done {
		return e.commit, e.err
	}
	b.mu.Lock()
	batch := g.locks
	g.locks = nil
	b.mu.Unlock()
	commit, err := writeLocks(ctx, l.Writer, batch)
	if err != nil && ctx.Err() != nil { // the other entries may still succeed
		b.mu.Lock()
		g.locks = append(g.locks, slices.DeleteFunc(batch, func(other *lockEntry) bool {
			return other == e || other.gone
		})...)
		b.mu.Unlock()
		return commit, err
	}
	for _, other := range batch {
		other.done, other.commit, other.err = true, commit, err
	}
	return commit, err
}

// Flush pushes the waiting notes, and waits for running pushes. The Batches may be used afterwards.
func (b *Batches) Flush(ctx context.Context) error {
	var groups []*batchGroup
	b.mu.Lock()
	for _, g := range b.groups {
		groups = append(groups, g)
		if g.timer != nil && g.timer.Stop() {
			b.timers.Done()
		}
		g.timer = nil
	}
	b.mu.Unlock()
	var errs []error
	for _, g := range groups {
		errs = append(errs, b.flush(ctx, g))
	}
	b.timers.Wait()
	return errors.Join(errs...)
}
