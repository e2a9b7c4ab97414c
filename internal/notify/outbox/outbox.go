// Package outbox does what others are to be told while the fleet goes on: it keeps jobs in
// bounded queues and does them with deadlines and retries.
//
// Jobs stand in lanes, one for each recipient: those of a lane are done one after the other in
// their order, and a lane whose recipient is down holds up no other. A job with a key says how
// things are: a newer one takes its place, and it is tried until it succeeds, is refused for good
// or is replaced. A job without a key says what happened: none replaces another, a full lane
// drops the oldest and counts it, and what is too old to matter is given up.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Options decide how jobs are done. The zero value of a field means its default.
type Options struct {
	// MaxWaiting is how many jobs a lane holds. Default 256.
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
	orDefault := func(v *time.Duration, def time.Duration) {
		if *v <= 0 {
			*v = def
		}
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 256
	}
	if o.Workers <= 0 {
		o.Workers = 8
	}
	orDefault(&o.Timeout, time.Minute)
	orDefault(&o.MaxAge, time.Hour)
	orDefault(&o.Grace, 5*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Job is something to do.
type Job struct {
	// Lane is whom it is for. It is never shown: an address may be a secret.
	Lane string
	// Key stands for what a later job with the same Key replaces, within the lane. Empty:
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
	// Oldest is since when the recipient of one of those is not told what it should be. Zero if
	// none waits.
	Oldest time.Time

	Done    int // succeeded
	Retried int // tries after which there was another one
	Failed  int // given up
	Dropped int // by full lanes, or put after the end
}

// Box holds the lanes. It is safe for concurrent use.
type Box struct {
	options Options
	slots   chan struct{}
	drain   chan struct{} // closed when there are no more retries
	workers sync.WaitGroup

	mu     sync.Mutex
	ctx    context.Context // of jobs; nil before Run
	closed bool
	lanes  map[string]*lane
	stats  Stats
}

// lane is the queue of one recipient. It has a worker while it holds anything and the box runs.
type lane struct {
	name    string
	waiting []queued
	trying  *queued
	busy    bool
}

type queued struct {
	Job
	put   time.Time
	since time.Time // of the first of those that it took the place of
}

// all are the jobs that are not ended.
func (l *lane) all() []queued {
	if l.trying == nil {
		return l.waiting
	}
	return append([]queued{*l.trying}, l.waiting...)
}

// New makes an empty box. Jobs wait in it until Run.
func New(opts Options) *Box {
	opts = opts.withDefaults()
	return &Box{options: opts, slots: make(chan struct{}, opts.Workers), drain: make(chan struct{}), lanes: map[string]*lane{}}
}

// Put adds a job. It never waits.
func (b *Box) Put(j Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.stats.Dropped++
		return
	}
	l := b.lanes[j.Lane]
	if l == nil {
		l = &lane{name: j.Lane}
		b.lanes[j.Lane] = l
	}
	now := time.Now()
	next := queued{j, now, now}
	if j.Key != "" {
		for _, q := range l.all() {
			if q.Key == j.Key && q.since.Before(next.since) {
				next.since = q.since
			}
		}
	}
	if i := slices.IndexFunc(l.waiting, func(q queued) bool { return j.Key != "" && q.Key == j.Key }); i >= 0 {
		l.waiting[i] = next
		return
	}
	if len(l.waiting) >= b.options.MaxWaiting {
		oldest := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		b.stats.Dropped++
		b.options.Log.Warn("dropped, as too much waits to be told", "what", oldest.What, "pipeline", oldest.Pipeline)
	}
	l.waiting = append(l.waiting, next)
	b.start(l)
}

// start gives a lane its worker. It is called with mu held.
func (b *Box) start(l *lane) {
	if b.ctx == nil || l.busy {
		return
	}
	l.busy = true
	b.workers.Go(func() { b.work(l) })
}

// Stats counts.
func (b *Box) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	for _, l := range b.lanes {
		for _, q := range l.all() {
			s.Waiting++
			if s.Oldest.IsZero() || q.since.Before(s.Oldest) {
				s.Oldest = q.since
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
	b.mu.Lock()
	b.ctx = jobs
	for _, l := range b.lanes {
		b.start(l)
	}
	b.mu.Unlock()

	<-ctx.Done()
	b.mu.Lock()
	b.closed = true
	close(b.drain)
	b.mu.Unlock()
	end := time.AfterFunc(b.options.Grace, func() { cancel(errors.New("the service stops")) })
	defer end.Stop()
	b.workers.Wait()
	return nil
}

// work does what a lane holds, and ends when it holds nothing.
func (b *Box) work(l *lane) {
	for {
		b.mu.Lock()
		if len(l.waiting) == 0 {
			l.busy = false
			delete(b.lanes, l.name)
			b.mu.Unlock()
			return
		}
		j := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.trying = &j
		b.mu.Unlock()

		count := b.finish(l, j)
		b.mu.Lock()
		l.trying = nil
		*count(&b.stats)++
		b.mu.Unlock()
	}
}

// finish tries a job until there is no use in it, and says what to count.
func (b *Box) finish(l *lane, j queued) func(*Stats) *int {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 30, Cap: 5 * time.Minute}
	log := b.options.Log.With("what", j.What, "pipeline", j.Pipeline)
	for try := 1; ; try++ {
		err := b.try(j.Job)
		if err == nil {
			return func(s *Stats) *int { return &s.Done }
		}
		if isPermanent(err) || b.draining() || j.Key == "" && time.Since(j.put) >= b.options.MaxAge {
			log.Warn("not told, given up", "err", err, "tries", try)
			return func(s *Stats) *int { return &s.Failed }
		}
		if try == 1 {
			log.Warn("not told, tried again", "err", err)
		}
		b.mu.Lock()
		b.stats.Retried++
		b.mu.Unlock()
		pause := backoff.Step()
		if hint, ok := errors.AsType[interface {
			error
			RetryAfter() time.Duration
		}](err); ok {
			pause = max(pause, hint.RetryAfter())
		}
		select {
		case <-time.After(pause):
		case <-b.drain:
		}
		if b.replaced(l, j) {
			return func(*Stats) *int { return new(int) } // the newer one goes on
		}
	}
}

// replaced reports whether a newer job waits that says what this one says.
func (b *Box) replaced(l *lane, j queued) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return j.Key != "" && slices.ContainsFunc(l.waiting, func(q queued) bool { return q.Key == j.Key })
}

func (b *Box) draining() bool {
	select {
	case <-b.drain:
		return true
	default:
		return false
	}
}

// try does a job once, when there is a place for it. One that panics must not take the service
// with it.
func (b *Box) try(j Job) (err error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	}
	defer func() { <-b.slots }()
	ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = Permanent(fmt.Errorf("panic: %v", p))
		}
	}()
	return j.Do(ctx)
}

// Permanent marks an error as one that another try would meet again.
func Permanent(err error) error { return permanent{err} }

type permanent struct{ error }

// Permanent tells the box.
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
