package fleet

import (
	"context"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
)

// Definition is one pipeline to run, as the configuration has it: with its defaults, valid.
// With Expand it is a pattern for pipelines, which makes no passes itself.
type Definition struct {
	gitsync.Pipeline
	// Origin is where it is written, file:line, for people.
	Origin string
	// Credentials reads what the pipeline's auth fields point at. It is called before each
	// round, as files may rotate; it must be quick and wait for no network. An error, which
	// must not show a secret, stops the pipeline until a later call succeeds.
	Credentials func() (gitsync.Credentials, error)
	// Expand makes the pipelines of forEach out of the folders that match, which are sorted.
	// It is nil without forEach. A folder of which no pipeline can be made is left out and
	// reported.
	Expand func(folders []string) ([]Definition, diag.List)
	// Source is what the configuration made this of. The fleet only hands it on.
	Source any
}

// Trigger asks for work before it is due. With neither Pipeline nor Repository it is meant
// for everything.
type Trigger struct {
	// Pipeline makes one pipeline pass by its name, also if nothing moved. For the name of a
	// definition with Expand its folders are listed.
	Pipeline string
	// Repository makes a round of each remote with this address: HOST[:PORT]/PATH, as
	// [gitsync.RepositoryAddress] makes it of a URL, over whatever protocol. Pipelines pass if
	// something moved.
	Repository string
	// Reason is one of few words for logs and metrics, such as [ReasonWebhook].
	Reason string
	// Token is what the status repeats as lastHandledReconcileAt after the pass that it
	// caused. It needs Pipeline, or neither.
	Token string
}

// Why passes are made. Triggers may have reasons of their own.
const (
	ReasonStart   = "start"   // new, changed, resumed, or taken over from another replica
	ReasonPoll    = "poll"    // a ref was found moved, and nobody had told of it
	ReasonRetry   = "retry"   // the last pass failed
	ReasonWebhook = "webhook" // a repository's host said so
	ReasonAPI     = "api"     // somebody asked
	ReasonSignal  = "signal"  // SIGHUP
)

// Outcome is what an [Observer] is told: a pass has ended, or the status or reason of Ready or
// Stalled has changed without one. That a pipeline has begun is not told.
type Outcome struct {
	// Definition is the one that the pass was made with. It must not be changed.
	Definition *Definition
	// Report is what the pass found and did, also if it failed halfway. Nil: no pass was made,
	// or it panicked.
	Report *gitsync.Report
	// Err says why the pass failed: a repository could not be reached or written.
	Err error
	// Trigger is the reason of the pass.
	Trigger string
	// Began is when the pass began; zero if none was made. Took is how long it took.
	Began time.Time
	Took  time.Duration
	// Before is the state at the end of the Outcome before this one, and After is the new one.
	Before, After Status
	// Removed says that the pipeline is gone from the configuration, or its folder from the
	// source; its branch stays. After is its last state.
	Removed bool
}

// IsPass reports whether a pass was made.
func (o Outcome) IsPass() bool { return !o.Began.IsZero() }

// Observer is told of passes and changes of state, one at a time, those of one pipeline in
// their order. A slow one delays passes: what takes long belongs into a queue of its own.
type Observer interface {
	Passed(ctx context.Context, o Outcome)
}

// Ownership says which part of a fleet is this replica's.
type Ownership interface {
	// Owns reports whether this replica runs what belongs to a key. Keys are those of
	// [Fleet.ShardKey]: the name of a pipeline, or of the first of those that a rollout ties
	// together. It must answer at once and not call the fleet.
	Owns(key string) bool
}
