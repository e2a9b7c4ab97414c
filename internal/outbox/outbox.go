// Package outbox delivers messages in the background: it keeps jobs in bounded queues, and does them with deadlines
// and retries.
//
// Each recipient has a queue, whose jobs are done one after the other, so a recipient that does not answer delays no
// other. A job with a key describes a state: a newer one with the same key replaces it, and it is tried until it
// succeeds, is refused for good or is replaced. A job without a key describes an event: it is never replaced. A full
// queue drops its oldest event, and an event that is too old is given up.
//
// client-go's workqueue schedules the recipients: it never gives one recipient to two workers, and brings it back
// after a pause.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"

	"github.com/agentry-dev/agentry/internal/panics"
)

// Options are the settings of a Box.
type Options struct {
	// MaxWaiting limits the jobs of a queue. Default 256.
	MaxWaiting int
	// Workers is how many jobs are done at once. Default 8.
	Workers int
	// Timeout limits one try of a job. Default 1 minute.
	Timeout time.Duration
	// MaxAge is the age at which a job without a key is given up. Default 1 hour.
	MaxAge time.Duration
	// Grace limits the time after the end of Run in which each waiting job is tried once more. Default 5 seconds.
	Grace time.Duration
	// Log logs the first failure of a job, and when it is given up. Default: none.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 256)
	o.Workers = cmp.Or(o.Workers, 8)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.MaxAge = cmp.Or(o.MaxAge, time.Hour)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Job is a delivery.
type Job struct {
	// Recipient identifies the queue. It is never shown: an address can be a secret.
	Recipient string
	// Key identifies the state that the job describes: a later job with the same key and recipient replaces it. If it
	// is empty, nothing replaces the job.
	Key string
	// What and Pipeline describe the job in logs.
	What, Pipeline string
	// Do does the job. Its error must contain no secret. If the error has a method Permanent() bool that returns
	// true, it is not tried again; if it has RetryAfter() time.Duration, not before that time.
	Do func(ctx context.Context) error
}

// Stats counts jobs.
type Stats struct {
	Waiting int // now, including those that are being tried
	// Oldest is the time since which the oldest of these waits, or a job that it replaced. It is zero if none waits.
	Oldest time.Time

	Done    int // succeeded
	Retried int // tries that were followed by another one
	Failed  int // given up
	Dropped int // dropped from full queues, or put after the end
}

// Box holds the queues. It is safe for concurrent use.
type Box struct {
	options Options

	mu     sync.Mutex
	ready  workqueue.TypedDelayingInterface[string] // schedules the recipients; nil before Run
	closed bool                                     // jobs are not retried any more
	queues map[string]*queue                        // by recipient
	stats  Stats
}

// queue has the jobs of one recipient.
type queue struct {
	waiting []queued
	trying  *queued // running, or waiting for its next try
}

type queued struct {
	Job
	put     time.Time
	since   time.Time // when the first job that it replaced was put
	tries   int
	backoff wait.Backoff
}

// all returns the jobs that are not done.
func (q *queue) all() []queued {
	if q.trying == nil {
		return q.waiting
	}
	return append([]queued{*q.trying}, q.waiting...)
}

// find returns the index of a waiting job with a key, or -1.
func (q *queue) find(key string) int {
	return slices.IndexFunc(q.waiting, func(j queued) bool { return key != "" && j.Key == key })
}

// New returns an empty box. Jobs wait in it until Run.
func New(opts Options) *Box {
	return &Box{options: opts.withDefaults(), queues: map[string]*queue{}}
}

// Put adds a job. It never blocks.
func (b *Box) Put(j Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.stats.Dropped++
		return
	}
	q := b.queues[j.Recipient]
	if q == nil {
		q = &queue{}
		b.queues[j.Recipient] = q
	}
	now := time.Now()
	next := queued{Job: j, put: now, since: now,
		backoff: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 30, Cap: 5 * time.Minute}}
	for _, old := range q.all() {
		if j.Key != "" && old.Key == j.Key && old.since.Before(next.since) {
			next.since = old.since
		}
	}
	if i := q.find(j.Key); i >= 0 {
		q.waiting[i] = next
		return
	}
	if len(q.waiting) >= b.options.MaxWaiting {
		oldest := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		b.stats.Dropped++
		b.options.Log.Warn("delivery dropped: too many wait", "what", oldest.What, "pipeline", oldest.Pipeline)
	}
	q.waiting = append(q.waiting, next)
	if b.ready != nil && q.trying == nil {
		b.ready.Add(j.Recipient)
	}
}

// Stats returns the counts.
func (b *Box) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	for _, q := range b.queues {
		for _, j := range q.all() {
			s.Waiting++
			if s.Oldest.IsZero() || j.since.Before(s.Oldest) {
				s.Oldest = j.since
			}
		}
	}
	return s
}

// Run does jobs until ctx ends. Then each waiting job is tried once more during the grace period; the others are
// lost. It may be called once.
func (b *Box) Run(ctx context.Context) error {
	jobs, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	ready := workqueue.NewTypedDelayingQueue[string]()
	b.mu.Lock()
	b.ready = ready
	for recipient := range b.queues {
		ready.Add(recipient)
	}
	b.mu.Unlock()
	var workers sync.WaitGroup
	for range b.options.Workers {
		workers.Go(func() { b.work(jobs) })
	}

	<-ctx.Done()
	b.mu.Lock()
	b.closed = true
	for recipient := range b.queues {
		ready.Add(recipient) // including recipients that pause
	}
	b.endIfEmpty()
	b.mu.Unlock()
	end := time.AfterFunc(b.options.Grace, func() { cancel(errors.New("the service stops")) })
	defer end.Stop()
	workers.Wait()
	return nil
}

// endIfEmpty stops the workers when nothing waits after the end. It must be called with mu held.
func (b *Box) endIfEmpty() {
	if b.closed && len(b.queues) == 0 {
		b.ready.ShutDown()
	}
}

// work does jobs until the box has ended.
func (b *Box) work(ctx context.Context) {
	for {
		recipient, ended := b.ready.Get()
		if ended {
			return
		}
		if q, j := b.take(recipient); j != nil {
			err := b.try(ctx, j.Job)
			b.mu.Lock()
			pause := b.account(q, err)
			b.mu.Unlock()
			b.ready.AddAfter(recipient, pause)
		}
		b.ready.Done(recipient)
	}
}

// take returns the first job of a recipient, or nil. It drops a job that was tried before and has been replaced
// since.
func (b *Box) take(recipient string) (*queue, *queued) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[recipient]
	if q == nil {
		return nil, nil
	}
	if q.trying != nil && q.find(q.trying.Key) >= 0 {
		q.trying = nil
	}
	if q.trying == nil {
		if len(q.waiting) == 0 {
			delete(b.queues, recipient)
			b.endIfEmpty()
			return nil, nil
		}
		first := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		q.trying = &first
	}
	return q, q.trying
}

// account counts a try, and returns how long the recipient pauses. It must be called with mu held.
func (b *Box) account(q *queue, err error) time.Duration {
	j := q.trying
	j.tries++
	log := b.options.Log.With("what", j.What, "pipeline", j.Pipeline)
	switch {
	case err == nil:
		b.stats.Done++
		q.trying = nil
		return 0
	case isPermanent(err) || b.closed || j.Key == "" && time.Since(j.put) >= b.options.MaxAge:
		log.Warn("delivery failed and is given up", "err", err, "tries", j.tries)
		b.stats.Failed++
		q.trying = nil
		return 0
	case j.tries == 1:
		log.Warn("delivery failed and is tried again", "err", err)
	}
	b.stats.Retried++
	pause := j.backoff.Step()
	if hint, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		pause = max(pause, hint.RetryAfter())
	}
	return pause
}

// try does a job once. A panic becomes an error.
func (b *Box) try(ctx context.Context, j Job) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = Permanent(panics.Log(b.options.Log, j.What, j.Pipeline, p))
		}
	}()
	return j.Do(ctx)
}

// Permanent marks an error that another try would not avoid.
func Permanent(err error) error { return permanent{err} }

type permanent struct{ error }

// Permanent is called by the box.
func (permanent) Permanent() bool { return true }

// Unwrap returns the error that was marked.
func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err)
	return ok && p.Permanent()
}
