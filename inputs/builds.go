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

// Builds caches the roots that a [Search] builds until [Build] takes them, so that each is built once. It is valid for
// the files of that search only. The zero value is ready to use, and it is safe for concurrent use.
type Builds struct {
	// Take, if not nil, reserves memory for a result before it is cached. An error fails the build.
	Take func(bytes int64) error

	mu   sync.Mutex
	kept map[string]*build // by root digest
}

// build is the result of building a root.
type build struct {
	docs   []manifest.Built
	failed *diag.Diagnostic // why it could not be built
	reads  tree.Reads
	charts chart.Uses
	open   *reopener
	// warnings are about what was left out.
	warnings diag.List
}

// bytes returns the total size of the documents.
func (b *build) bytes() int {
	sum := 0
	for _, doc := range b.docs {
		sum += len(doc.Text)
	}
	return sum
}

// reopener opens the files of a build again. Its files may be replaced by later ones in which the build would read the
// same.
type reopener struct{ atomic.Pointer[kustomize.Open] }

func (r *reopener) open() (tree.Files, func(), error) { return (*r.Load())() }

// buildRoot builds a root. It returns an error only if files cannot be read.
func buildRoot(ctx context.Context, files tree.Files, r Root, opts roots.Options) (*build, error) {
	t, open, stored := tree.New(ctx, files), &reopener{}, opts.Open
	open.Store(&stored)
	opts.Open = open.open
	var uses chart.Uses
	opts.Charts, uses = opts.Charts.Recording()
	var warnings diag.List
	opts.Warn = func(more diag.List) { warnings = append(warnings, more...) }
	docs, err := r.Build(ctx, t, opts)
	out := &build{docs: docs, reads: t.Reads(), charts: uses, open: open, warnings: warnings}
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
		out.failed, err = failed, nil
	}
	return out, err
}

// build builds a root for the search and caches the result.
func (b *Builds) build(ctx context.Context, files tree.Files, r Root, opts roots.Options) (*build, error) {
	if b == nil {
		return buildRoot(ctx, files, r, opts)
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

// take removes a root from the cache and returns its build, which uses open from now on.
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
