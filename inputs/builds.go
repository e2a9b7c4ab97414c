package inputs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Builds keeps what a [Search] built until [Build] takes it, so that no root is built twice. It is valid for the files
// of that search. The zero value is empty. It is safe for concurrent use.
type Builds struct {
	// Work, if it is not nil, waits until a root may be built. What it returns is called after that.
	Work func() (done func(), err error)
	// Take, if it is not nil, is called with the number of bytes before they are kept. Its error refuses them.
	Take func(bytes int64) error

	mu   sync.Mutex
	kept map[string]*build // by the root's digest
}

// build is the result of building a root.
type build struct {
	docs   []manifest.Built
	failed *diag.Diagnostic // why it could not be built
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
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
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

// take removes and returns the build of a root. From now on open opens its files.
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
