package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/panics"
)

// syncer makes passes of one pipeline: a [gitsync.Syncer], or an [expander]. It is not safe
// for concurrent use.
type syncer interface {
	PassSince(ctx context.Context, since time.Time) (*gitsync.Report, error)
	Refs() []gitsync.RemoteRefs
	SetCredentials(gitsync.Credentials) error
	Forget()
	Size() int64
	Close()
}

var _ syncer = (*gitsync.Syncer)(nil)

// templateSyncer is the syncer of a definition with forEach, which makes pipelines of folders.
type templateSyncer interface {
	syncer
	// Made are the pipelines that the last pass made. It must have succeeded.
	Made() []Definition
}

// gate waits until a pass may read and render: see gitsync.Options.Gate.
type gate func(context.Context) (leave func(), err error)

// backend makes syncers and asks repositories. Tests have one of their own.
type backend struct {
	// open opens a pipeline. keep is [gitsync.Options.KeepBytes].
	open   func(def *Definition, creds gitsync.Credentials, keep int64, enter gate) (syncer, error)
	expand func(def *Definition, creds gitsync.Credentials) (templateSyncer, error)
	// fetch lists and fetches refs, and enters their commits into tips.
	fetch func(ctx context.Context, r *repo.Repo, since time.Time, refs []repo.Ref,
		tips map[repo.Ref]plumbing.Hash) error
	random func() float64 // from 0 to 1
	close  func()
}

// instance is a pipeline that is open.
type instance struct {
	// The goroutine that has taken the one place of use may call the syncer, and use output and writing.
	use            slots
	syncer         syncer
	templateSyncer templateSyncer // the syncer of a definition with forEach; nil of others
	output         *remote        // where it writes; nil with forEach
	writing        atomic.Bool    // the running pass has a place among the writers of output
	pace           pace

	pipeline *runner  // never changes
	tried    []tip    // that the last pass was made on; nil before the first. Guarded by Fleet.mu
	members  []member // the remotes, each once. Guarded by remotes.mu
	// explained is the last render, as long as it is kept between passes.
	explained atomic.Pointer[explain.Render]
	// names are those of the last render, or of an earlier one if it takes long to make them. They are kept when the
	// render is not. naming is held by who makes them.
	names  atomic.Pointer[names]
	naming sync.Mutex
}

// opening is a pipeline that is being opened.
type opening struct {
	pipeline   *runner
	def        *Definition
	generation int
	instance   *instance
	err        error
}

// run opens the pipeline. It contacts nobody.
func (o *opening) run(e backend, keep int64, workers *places, log *slog.Logger) {
	defer panics.Recover(log, "opening", o.def.Metadata.Name, &o.err)
	creds, err := o.def.Credentials()
	if err != nil {
		o.err = fmt.Errorf("credentials: %w", err)
		return
	}
	inst := &instance{use: newSlots(1), pipeline: o.pipeline}
	o.instance = inst
	if o.def.Expand == nil {
		inst.syncer, o.err = e.open(o.def, creds, keep, func(ctx context.Context) (func(), error) {
			return inst.enter(ctx, workers)
		})
		return
	}
	inst.templateSyncer, o.err = e.expand(o.def, creds)
	inst.syncer = inst.templateSyncer
}

// enter is the gate of the instance's passes. The place at the remote is kept until the pass has
// ended, as the push comes after rendering. It is taken before the worker, so that a pass that
// waits for a slow remote occupies no worker.
func (i *instance) enter(ctx context.Context, workers *places) (leave func(), err error) {
	if i.output != nil && !i.writing.Load() {
		if err := i.output.writers.take(ctx); err != nil {
			return nil, err
		}
		i.writing.Store(true)
	}
	return workers.enter(ctx, &i.pace)
}

// stopWriting gives back the place among the writers of output.
func (i *instance) stopWriting() {
	if i.writing.Swap(false) {
		i.output.writers.give()
	}
}

// renew reads the credentials and gives them to the syncer.
func (i *instance) renew(def *Definition, log *slog.Logger) (err error) {
	defer panics.Recover(log, "renewal of credentials", def.Metadata.Name, &err)
	creds, err := def.Credentials()
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return i.syncer.SetCredentials(creds)
}

// close closes the syncer when the pass or the round that uses it is done with it.
func (i *instance) close() {
	i.use <- struct{}{}
	i.syncer.Close()
}
