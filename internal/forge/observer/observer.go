// Package observer reports to forges what passes find and do: the commit status
// `agentry/<pipeline>` on input commits, and the pull request of pipelines that propose what they
// render by one.
//
// Both say how things are, so that only the newest is sent, and nothing twice. Everything goes
// through queues, one for each repository: no pass waits for a forge. What it says is what
// reports say, which is never a byte of a Secret; what comes from repositories is shown as code,
// so that it makes no links and calls nobody.
package observer

import (
	"context"
	"log/slog"
	"sync"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/notify/outbox"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// Options decide how forges get reports. The zero value of a field means its default.
type Options struct {
	// Sites are shared with whoever talks to the same forges. Required.
	Sites *forge.Sites
	// Secrets reads what the fields of a pipeline point at. It is called when something is
	// sent, as files may rotate. Required.
	Secrets func(d *fleet.Definition) (*pipelinefile.Secrets, error)
	// Page is the address of a page about a pipeline, for statuses; it may return "". Default: the
	// pages of output commits.
	Page func(pipeline string) string
	// MayPublish reports whether this replica, and no other, may report. It is asked right before each
	// call. Default: it may.
	MayPublish func() bool
	// Log gets a line for what cannot be sent. Default: none.
	Log *slog.Logger
}

// Observer sets statuses and keeps pull requests.
type Observer struct {
	options Options
	box     *outbox.Box

	mu       sync.Mutex
	reported map[target]report
}

// target is what a report is about: a source of a pipeline, or with -1 its pull request.
type target struct {
	pipeline string
	source   int
}

// proposal is the source of a target that is a pull request.
const proposal = -1

// report is what was sent, or is about to be.
type report struct {
	commit string
	state  forge.State
	text   string
}

var _ fleet.Observer = (*Observer)(nil)

// New makes an observer that sends nothing before Run.
func New(opts Options) *Observer {
	if opts.MayPublish == nil {
		opts.MayPublish = func() bool { return true }
	}
	return &Observer{options: opts, box: outbox.New(outbox.Options{Log: opts.Log}), reported: map[target]report{}}
}

// Run sends reports until ctx ends, and then those that wait, for a few seconds.
func (o *Observer) Run(ctx context.Context) error { return o.box.Run(ctx) }

// Stats count what was sent.
func (o *Observer) Stats() outbox.Stats { return o.box.Stats() }

// Passed implements fleet.Observer.
func (o *Observer) Passed(_ context.Context, out fleet.Outcome) {
	if out.Definition == nil {
		return
	}
	if out.Removed {
		o.forget(out)
		return
	}
	if !out.After.Owned {
		return
	}
	o.reportStatus(out)
	o.tellProposal(out)
}

// forget drops what is known of a pipeline that is gone.
func (o *Observer) forget(out fleet.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := proposal; i < len(out.Definition.Spec.Sources); i++ {
		delete(o.reported, target{out.After.Name, i})
	}
}

// put queues a report, unless it was sent already. One that cannot be sent, or is another
// replica's by then, is forgotten, so that the next pass here tries again.
func (o *Observer) put(t target, f report, same func(old, new report) bool, job outbox.Job) {
	o.mu.Lock()
	old, known := o.reported[t]
	if known && same(old, f) {
		o.mu.Unlock()
		return
	}
	o.reported[t] = f
	o.mu.Unlock()
	do := job.Do
	job.Pipeline = t.pipeline
	job.Do = func(ctx context.Context) error {
		var err error
		if o.options.MayPublish() {
			if err = do(ctx); !forge.IsPermanent(err) {
				return err
			}
			err = outbox.Permanent(err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.reported[t] == f {
			delete(o.reported, t)
		}
		return err
	}
	o.box.Put(job)
}

// connect makes the client of a forge: of a source, or with -1 of the output. It is nil where the
// credentials know none.
func (o *Observer) connect(d *fleet.Definition, source int) (forge.Forge, error) {
	secrets, err := o.options.Secrets(d)
	if err != nil {
		return nil, err
	}
	access := secrets.Output
	if source != proposal {
		if source >= len(secrets.Sources) {
			return nil, nil
		}
		access = secrets.Sources[source]
	}
	if access == nil {
		return nil, nil
	}
	return o.options.Sites.Forge(*access)
}
