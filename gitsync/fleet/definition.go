package fleet

import (
	"context"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Definition is one pipeline to run, valid and with its defaults. With Expand it is a pattern for
// pipelines and renders nothing itself.
type Definition struct {
	pipeline.Pipeline
	// Origin is where it is defined: file:line.
	Origin string
	// Credentials reads what the pipeline's auth fields point at. It is called before each
	// round, as files may rotate; it must be quick and wait for no network. An error, which
	// must not show a secret, stops the pipeline until a later call succeeds.
	Credentials func() (gitsync.Credentials, error)
	// Expand makes the pipelines of forEach out of the folders that match, which are sorted.
	// It is nil without forEach. A folder of which no pipeline can be made is left out and
	// reported.
	Expand func(folders []string) ([]Definition, diag.List)
	// Source is the value that the loader made this from. The fleet does not look at it.
	Source any
}

// Trigger asks for work before it is due. With neither Pipeline nor Repository it is for all
// pipelines.
type Trigger struct {
	// Pipeline is the name of a pipeline that passes, even if nothing moved. For a definition with
	// Expand, its folders are listed.
	Pipeline string
	// Repository is the address of remotes that get a round: HOST[:PORT]/PATH, as
	// [pipeline.RepositoryAddress] makes it of a URL with any protocol. Pipelines pass if something
	// moved.
	Repository string
	// Reason is one of few words for logs and metrics, such as [ReasonWebhook].
	Reason string
	// Token appears in the status as lastHandledReconcileAt after the pass that it caused. It
	// needs Pipeline, or neither Pipeline nor Repository.
	Token string
}

// Why passes are made. Triggers may have reasons of their own.
const (
	ReasonStart   = "start"   // new, changed, resumed, or taken over from another replica
	ReasonPoll    = "poll"    // a ref has moved, and no trigger said so
	ReasonRetry   = "retry"   // the last pass failed
	ReasonWebhook = "webhook" // a Git host reported a push
	ReasonAPI     = "api"     // somebody asked
	ReasonSignal  = "signal"  // SIGHUP
	ReasonCharts  = "charts"  // it is time to look up versions of charts
	// ReasonQuestion means that somebody asks about a render that is not kept.
	ReasonQuestion = "question"
)

// Outcome is what an [Observer] gets: a pass has ended, or the status or reason of Ready or Stalled
// has changed without one. The beginning of a pass is not reported.
type Outcome struct {
	// Definition is the one that the pass was made with. It must not be changed.
	Definition *Definition
	// Report is the report of the pass, even if it failed halfway. Nil: there was no pass, or it panicked.
	Report *gitsync.Report
	// Err says why the pass failed: a repository could not be reached or written.
	Err error
	// Trigger is the reason of the pass.
	Trigger string
	// Began is when the pass began; zero if there was none. Took is its duration.
	Began time.Time
	Took  time.Duration
	// Before is the After of the previous Outcome of this pipeline.
	Before, After Status
	// Removed says that the pipeline was removed from the configuration, or its folder from the
	// source. Its branch stays. After is its last state.
	Removed bool
}

// IsPass reports whether there was a pass.
func (o Outcome) IsPass() bool { return !o.Began.IsZero() }

// Observer gets the outcomes of all pipelines, one at a time and in order. A slow one delays passes:
// long work belongs in a queue of its own.
type Observer interface {
	Passed(ctx context.Context, o Outcome)
}
