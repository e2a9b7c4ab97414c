package notify

import (
	"context"
	"log/slog"
	"sync"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/outbox"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// Options are the settings of an Observer.
type Options struct {
	// Secrets reads the credentials of a pipeline. It is called for each delivery, because files can change.
	// Required.
	Secrets func(d *fleet.Definition) (*pipelinefile.Secrets, error)
	// Instance is the name of this replica in events, such as the pod's.
	Instance string
	// Log logs deliveries that fail. Default: none.
	Log *slog.Logger
}

// Observer sends events and calls Receivers. Passes never wait for it.
type Observer struct {
	options Options
	box     *outbox.Box
	pool    httpclient.Pool

	mu       sync.Mutex
	reported map[string]state // by pipeline
}

var _ fleet.Observer = (*Observer)(nil)

// New returns an observer. It sends nothing before Run.
func New(opts Options) *Observer {
	return &Observer{options: opts, box: outbox.New(outbox.Options{Log: opts.Log}), reported: map[string]state{}}
}

// Run sends until ctx ends, and then what is queued, for a few seconds.
func (o *Observer) Run(ctx context.Context) error { return o.box.Run(ctx) }

// Stats returns the counts of deliveries.
func (o *Observer) Stats() outbox.Stats { return o.box.Stats() }

// Passed implements fleet.Observer.
func (o *Observer) Passed(_ context.Context, out fleet.Outcome) {
	if out.Definition == nil {
		return
	}
	name := out.After.Name
	o.mu.Lock()
	before, known := o.reported[name]
	now := stateOf(out)
	if out.Removed {
		delete(o.reported, name)
	} else if now.settled {
		o.reported[name] = now
	}
	o.mu.Unlock()
	if e, ok := describe(out, before, known, now); ok {
		for i, sink := range out.Definition.Spec.Notify {
			o.send(out.Definition, i, sink, e)
		}
	}
	if isPush(out) {
		for i, r := range out.Definition.Spec.Output.Receivers {
			o.callReceiver(out.Definition, i, r, out.Report)
		}
	}
}

// send queues an event for an address.
func (o *Observer) send(d *fleet.Definition, i int, sink pipeline.Notify, e message) {
	if sink.Severity == diag.Error && e.severity != diag.Error {
		return
	}
	if e.onlyStatus && sink.Object == nil {
		return // such an event only makes Flux set a commit status
	}
	event := e.event(sink.Object, o.options.Instance)
	o.box.Put(outbox.Job{Recipient: sink.URL, What: "event", Pipeline: e.pipeline, Do: func(ctx context.Context) error {
		secret, err := o.endpoint(d, func(s *pipelinefile.Secrets) []pipelinefile.EndpointSecret { return s.Notify }, i)
		if err != nil {
			return err
		}
		return post(ctx, &o.pool, sink.URL, secret, event)
	}})
}

// callReceiver queues the call of a Receiver. One call is enough for several pushes.
func (o *Observer) callReceiver(d *fleet.Definition, i int, r pipeline.Receiver, report *gitsync.Report) {
	body := receiverCall{Pipeline: report.Pipeline, Revision: revision(report.Output.Branch, report.Commit)}
	o.box.Put(outbox.Job{Recipient: r.URL, Key: r.URL, What: "receiver", Pipeline: report.Pipeline,
		Do: func(ctx context.Context) error {
			if r.Timeout != nil && r.Timeout.Duration > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, r.Timeout.Duration)
				defer cancel()
			}
			secret, err := o.endpoint(d, func(s *pipelinefile.Secrets) []pipelinefile.EndpointSecret {
				return s.Receivers
			}, i)
			if err != nil {
				return err
			}
			return post(ctx, &o.pool, r.URL, secret, body)
		}})
}

// receiverCall is the body for a Receiver, which accepts any signed body.
type receiverCall struct {
	Pipeline string `json:"pipeline"`
	Revision string `json:"revision"`
}

// endpoint returns the credentials of one address.
func (o *Observer) endpoint(d *fleet.Definition, of func(*pipelinefile.Secrets) []pipelinefile.EndpointSecret,
	i int) (pipelinefile.EndpointSecret, error) {
	all, err := o.options.Secrets(d)
	if err != nil {
		return pipelinefile.EndpointSecret{}, err
	}
	if list := of(all); i < len(list) {
		return list[i], nil
	}
	return pipelinefile.EndpointSecret{}, nil
}
