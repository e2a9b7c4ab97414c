// Package outbox delivers what others are to know while the fleet goes on: it keeps jobs in bounded queues and does them
// with deadlines and retries.
//
// Each recipient has a queue: its jobs are done one after the other in their order, and a recipient that is down delays no
// other. A job with a key says how things are: a newer one replaces it, and it is tried until it succeeds, is refused for
// good or is replaced. A job without a key says what happened: none replaces another, a full queue drops the oldest and
// counts it, and what is too old to matter is given up.
//
// client-go's workqueue says whose turn it is: it never gives one recipient to two workers, and brings it back after a pause.
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

	"github.com/agentry-dev/agentry/internal/fault"
)

// Options decide how jobs are done. The zero value of a field means its default.
type Options struct {
	// MaxWaiting is how many jobs a queue holds. Default 256.
	MaxWaiting int
	// Workers is how many jobs are done at once. Default 8.
	Workers int
	// Timeout bounds one try of a job. Default 1 minute.
	Timeout time.Duration
	// MaxAge is how old a job without a key may get before it is given up. Default 1 hour.
	MaxAge time.Duration
	// Grace is how long what waits may still be tried, once, after Run is to end. Default 5
	// seconds.
	Grace time.Duration
	// Log gets a line for a job that fails at first, and one when it is given up. Default: none.
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

// Job is something to do.
type Job struct {
	// Recipient is whom it is for. It is never shown: an address may be a secret.
	Recipient string
	// Key stands for what a later job with the same Key replaces, for the same recipient. Empty:
	// nothing replaces it.
	Key string
	// What and Pipeline say in logs what it is.
	What, Pipeline string
	// Do does it. An error must show no secret. An error with a method Permanent() bool that
	// is true is not tried again; one with RetryAfter() time.Duration not before that.
	Do func(ctx context.Context) error
}

// Stats count jobs.
type Stats struct {
	Waiting int // now, those that are being tried included
	// Oldest is since when the longest of those waits, what it replaced included. Zero if none
	// waits.
	Oldest time.Time

	Done    int // succeeded
	Retried int // tries after which there was another one
	Failed  int // given up
	Dropped int // by full queues, or put after the end
}

// Box holds the queues. It is safe for concurrent use.
type Box struct {
	options Options

	mu     sync.Mutex
	ctx    context.Context                          // of jobs; nil before Run
	ready  workqueue.TypedDelayingInterface[string] // the recipients whose turn it is or will be; nil before Run
	closed bool                                     // there are no more retries
	queues map[string]*queue                        // by recipient
	stats  Stats
}

// queue has the jobs of one recipient.
type queue struct {
	waiting []queued
	trying  *queued // under way, or to be tried again
}

type queued struct {
	Job
	put     time.Time
	since   time.Time // of the first of those that it replaced
	tries   int
	backoff wait.Backoff
}

// all are the jobs that are not ended.
func (q *queue) all() []queued {
	if q.trying == nil {
		return q.waiting
	}
	return append([]queued{*q.trying}, q.waiting...)
}

// find is the place of a waiting job with a key; -1 if there is none.
func (q *queue) find(key string) int {
	return slices.IndexFunc(q.waiting, func(j queued) bool { return key != "" && j.Key == key })
}

// New makes an empty box. Jobs wait in it until Run.
func New(opts Options) *Box {
	return &Box{options: opts.withDefaults(), queues: map[string]*queue{}}
}

// Put adds a job. It never waits.
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
	next := queued{Job: j, put: now, since: now, backoff: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 30, Cap: 5 * time.Minute}}
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

// Stats counts.
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

// Run does jobs until ctx ends. Then each that waits is tried once more, as far as the grace
// goes, and the rest is lost. It may be called once.
func (b *Box) Run(ctx context.Context) error {
	jobs, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	ready := workqueue.NewTypedDelayingQueue[string]()
	b.mu.Lock()
	b.ctx, b.ready = jobs, ready
	for recipient := range b.queues {
		ready.Add(recipient)
	}
	b.mu.Unlock()
	var workers sync.WaitGroup
	for range b.options.Workers {
		workers.Go(b.work)
	}

	<-ctx.Done()
	b.mu.Lock()
	b.closed = true
	for recipient := range b.queues {
		ready.Add(recipient) // those that pause too
	}
	b.endIfEmpty()
	b.mu.Unlock()
	end := time.AfterFunc(b.options.Grace, func() { cancel(errors.New("the service stops")) })
	defer end.Stop()
	workers.Wait()
	return nil
}

// endIfEmpty lets the workers go when nothing waits after the end. It is called with mu held.
func (b *Box) endIfEmpty() {
	if b.closed && len(b.queues) == 0 {
		b.ready.ShutDown()
	}
}

// work does jobs until the box has ended.
func (b *Box) work() {
	for {
		recipient, ended := b.ready.Get()
		if ended {
			return
		}
		if q, j := b.take(recipient); j != nil {
			err := b.try(j.Job)
			b.mu.Lock()
			pause := b.account(q, err)
			b.mu.Unlock()
			b.ready.AddAfter(recipient, pause)
		}
		b.ready.Done(recipient)
	}
}

// take is the first job of a recipient; nil if there is none. One that was tried before and has been replaced since is
// dropped.
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

// account counts a try, and returns how long the recipient pauses. It is called with mu held.
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

// try does a job once. One that panics must not take the service with it.
func (b *Box) try(j Job) (err error) {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = Permanent(fault.Log(b.options.Log, j.What, j.Pipeline, p))
		}
	}()
	return j.Do(ctx)
}

// Permanent marks an error as one that another try would meet again.
func Permanent(err error) error { return permanent{err} }

type permanent struct{ error }

// Permanent is for the box.
func (permanent) Permanent() bool { return true }

// Unwrap gives the error that was marked.
func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err)
	return ok && p.Permanent()
}
