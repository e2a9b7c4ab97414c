package inputs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Builds are what a [Search] built on its way, until [Build] takes it: no root is built twice. They belong to the files of
// the search. The zero value keeps nothing yet. They are safe for concurrent use.
type Builds struct {
	// Work, if it is not nil, waits until a root may be built. What it returns is called after that.
	Work func() (done func(), err error)
	// Take, if it is not nil, is told how many bytes are about to be kept.
	Take func(bytes int64) error

	mu   sync.Mutex
	kept map[string]*build // by the root's digest
}

// build is what a root gives.
type build struct {
	docs   []manifest.Built
	failed *kustomize.Error // why it gives nothing
	reads  tree.Reads
	charts chart.Uses
	open   *reopened
}

// bytes are those of the documents.
func (b *build) bytes() int {
	sum := 0
	for _, doc := range b.docs {
		sum += len(doc.Text)
	}
	return sum
}

// reopened opens the files that a build read, or later ones in which it would read the same.
type reopened struct{ atomic.Pointer[kustomize.Open] }

func (r *reopened) open() (tree.Files, func(), error) { return (*r.Load())() }

// buildRoot builds a root. An error is about reading the files.
func buildRoot(ctx context.Context, files tree.Files, r Root, opts roots.Options) (*build, error) {
	t, open, stored := tree.New(ctx, files), &reopened{}, opts.Open
	open.Store(&stored)
	opts.Open = open.open
	var uses chart.Uses
	opts.Charts, uses = opts.Charts.Noting()
	docs, err := r.Build(ctx, t, opts)
	out := &build{docs: docs, reads: t.Reads(), charts: uses, open: open}
	if failed, ok := errors.AsType[*kustomize.Error](err); ok {
		out.failed, err = failed, nil
	}
	return out, err
}

// build builds a root for the search, and keeps the result.
func (b *Builds) build(ctx context.Context, files tree.Files, r Root, opts roots.Options) (*build, error) {
	if b == nil {
		return buildRoot(ctx, files, r, opts)
	}
	if b.Work != nil {
		done, err := b.Work()
		if err != nil {
			return nil, err
		}
		defer done()
	}
	out, err := buildRoot(ctx, files, r, opts)
	if err == nil && b.Take != nil {
		err = b.Take(int64(out.bytes()))
	}
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		b.kept = map[string]*build{}
	}
	b.kept[r.Digest()] = out
	return out, nil
}

// take returns what is kept of a root, once. From now on open opens the files.
func (b *Builds) take(r Root, open kustomize.Open) *build {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	id := r.Digest()
	out := b.kept[id]
	if delete(b.kept, id); out != nil {
		out.open.Store(&open)
	}
	return out
}
