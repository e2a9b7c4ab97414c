// Package observer reports the results of passes to forges: the commit status `agentry/<pipeline>` of input commits,
// and the pull request of a pipeline that promotes by pull requests.
//
// Only the newest report is sent, and nothing is sent twice. Reports wait in queues, one per repository, so that no
// pass waits for a forge. Like gitsync's reports, they contain nothing of Secrets. Texts from repositories are written
// as code, so that they become neither links nor mentions.
package observer

import (
	"context"
	"log/slog"
	"sync"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/outbox"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// Options configure an Observer.
type Options struct {
	// Sites are shared with other users of the same forges. Required.
	Sites *forge.Sites
	// Secrets reads the credentials of a pipeline. It is called for each report, because files can change. Required.
	Secrets func(d *fleet.Definition) (*pipelinefile.Secrets, error)
	// MayPublish reports whether this replica, and no other, may report. It is called right before each call.
	// Default: always true.
	MayPublish func() bool
	// Log logs reports that cannot be sent. Default: none.
	Log *slog.Logger
}

// Observer sets statuses and keeps pull requests up to date.
type Observer struct {
	options Options
	box     *outbox.Box

	mu       sync.Mutex
	reported map[target]report
}

// target is the subject of a report: a source of a pipeline, or its pull request.
type target struct {
	pipeline string
	source   int
}

// proposal is the value of source for a pull request.
const proposal = -1

// report is a sent or queued report.
type report struct {
	commit string
	state  forge.State
	text   string
}

var _ fleet.Observer = (*Observer)(nil)

// New returns an observer. It sends nothing before Run.
func New(opts Options) *Observer {
	if opts.MayPublish == nil {
		opts.MayPublish = func() bool { return true }
	}
	return &Observer{options: opts, box: outbox.New(outbox.Options{Log: opts.Log}), reported: map[target]report{}}
}

// Run sends reports until ctx ends, and then the queued ones for a few seconds.
func (o *Observer) Run(ctx context.Context) error { return o.box.Run(ctx) }

// Stats returns the counts of reports.
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
	o.reportProposal(out)
}

// forget drops the reports of a removed pipeline.
func (o *Observer) forget(out fleet.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := proposal; i < len(out.Definition.Spec.Sources); i++ {
		delete(o.reported, target{out.After.Name, i})
	}
}

// put queues a report unless the same was already sent. If it cannot be sent, or another replica has become active, it
// is forgotten, so that the next pass tries again.
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

// connect returns the client of a source's forge, or with [proposal] of the output's forge. It returns nil if there is
// none.
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
