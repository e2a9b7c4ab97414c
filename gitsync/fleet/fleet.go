package fleet

import (
	"context"
	"log/slog"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// Options decide how a fleet runs. The zero value of a field means its default.
type Options struct {
	// CacheDir holds the caches of the repositories. Required.
	CacheDir string
	// Version of agentry, for the trailers of commits.
	Version string
	// Workers is how many passes read and render at once. Default GOMAXPROCS.
	Workers int
	// MemoryBytes is what all pipelines together may keep between passes. Default 256 MiB.
	MemoryBytes int64
	// PassTimeout bounds each attempt of a pass, and each round of a remote. Default 10
	// minutes.
	PassTimeout time.Duration
	// Jitter is the share by which intervals differ from what the configuration says, up or
	// down. Default 0.05; negative: none.
	Jitter float64
	// MinGap lies at least between the beginnings of two passes of a pipeline, and of two
	// rounds of a remote. Default 1 second.
	MinGap time.Duration
	// Grace is how long passes under way may go on when Run is to end. Default 20 seconds.
	Grace time.Duration
	// Log gets a line for each change of a pipeline's or a remote's state. Default: none.
	Log *slog.Logger
	// Observers are told of passes and changes of state, in this order.
	Observers []Observer
	// Slice says which pipelines are this replica's. Default: all.
	Slice Slice
	// Repo bounds what is fetched.
	Repo repo.Options
}

// Fleet runs pipelines. It is safe for concurrent use.
type Fleet struct {
	options Options
}

// New makes a fleet without pipelines.
func New(opts Options) *Fleet { return &Fleet{options: opts} }

// Set replaces the configuration. Pipelines that are new, changed or resumed pass as soon as
// they can; those that are the same go on untouched; those that are gone or suspended stop
// after the pass that is under way. Problems are of files that could not be read, whose last
// good definitions are among defs; they are shown by [Fleet.Problems]. It does not wait.
func (f *Fleet) Set(defs []Definition, problems diag.List) {}

// Run runs the fleet until ctx ends, and then waits for the passes under way, for a while
// ([Options.Grace]). It is an error if some of them had to be cut off, which loses nothing.
// It may be called once.
func (f *Fleet) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Trigger makes rounds, and passes, before they are due. It returns how many pipelines of
// this replica it reached.
func (f *Fleet) Trigger(t Trigger) int { return 0 }

// Rebalance looks again at which pipelines are this replica's: see [Options.Slice].
func (f *Fleet) Rebalance() {}

// SliceKey is what the replica of a pipeline is chosen by; the name itself if it is unknown.
func (f *Fleet) SliceKey(pipeline string) string { return pipeline }

// Status is the state of all pipelines, in the order of the configuration.
func (f *Fleet) Status() []Status { return nil }

// Pipeline is the state of one pipeline.
func (f *Fleet) Pipeline(name string) (Status, bool) { return Status{}, false }

// Definitions are all pipelines, those made of folders included, in the order of the
// configuration. They must not be changed.
func (f *Fleet) Definitions() []*Definition { return nil }

// Remotes is the state of all remotes, by URL.
func (f *Fleet) Remotes() []RemoteStatus { return nil }

// Problems are what is wrong with the configuration as a whole: what was given to
// [Fleet.Set], and pipelines of one name, of which only the first runs.
func (f *Fleet) Problems() diag.List { return nil }

// MemoryBytes is an estimate of what all pipelines together keep between passes.
func (f *Fleet) MemoryBytes() int64 { return 0 }
