package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// beatTime is the time between renewals of the member Lease, retryTime that after one that failed.
	beatTime, retryTime = 5 * time.Second, time.Second
	// trustTime is for how long after the beginning of a renewal its replica trusts its term. The
	// rest up to leaseTime is for side effects under way, and for clocks that run unevenly.
	trustTime = 10 * time.Second
	// callTime bounds a request: two of them fail before a term lapses.
	callTime = 4 * time.Second
	// roundTime is the time between two looks at the clock: members expire without an event.
	roundTime = time.Second
	// farewellTime bounds what is done at the end.
	farewellTime = 5 * time.Second
)

// Fleet is what is shared, a [fleet.Fleet].
type Fleet interface {
	// Rebalance is called after Owns began to answer otherwise.
	Rebalance()
	// Trigger is called with what another replica handed on.
	Trigger(t fleet.Trigger) int
	// ShardKey is what Owns is asked with for a pipeline.
	ShardKey(pipeline string) string
	// Idle waits until no pass is under way of what belongs to these keys; Owns is false of
	// them already.
	Idle(ctx context.Context, keys func(key string) bool) error
}

var _ fleet.Ownership = (*Replica)(nil)

// Options are the settings of a Replica.
type Options struct {
	Leases Leases
	// Name is the fleet's: replicas with one name in one namespace share it. The Leases have it as
	// prefix.
	Name string
	// Identity tells this replica from the others that run: the pod's name, or the host's.
	Identity string
	Log      *slog.Logger // nil: nothing is logged
}

// Replica is one of those that share a fleet. It works while Run runs.
type Replica struct {
	options Options
	leases  Leases
	self    string // the name of the member Lease
	process string // tells this process's terms from all others'
	now     func() time.Time
	log     *slog.Logger
	wake    chan struct{} // something changed that a round depends on
	listed  chan struct{} // a list was taken in
	posts   chan struct{} // triggers wait to be written
	work    sync.WaitGroup

	mu       sync.Mutex
	fleet    Fleet // nil before Run
	view     view
	writes   int       // of ours into the view: see watch.go
	heard    time.Time // when the watch last said anything; zero: never
	terms    int
	term     string    // ours; empty before the first and between two
	renewed  time.Time // when the last good renewal began
	mine     [sliceCount]bool
	draining [sliceCount]bool
	given    [sliceCount]string // versions of Leases that we tried to release
	troubles map[string]string  // by what is in trouble
	outbox   outbox
	seen     map[spot]string // triggers that were acted on and are not removed yet
}

// New makes a replica.
func New(o Options) (*Replica, error) {
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	self, err := memberName(o.Name, o.Identity)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Replica{
		options: o, leases: o.Leases, self: self, process: strings.ToLower(rand.Text()[:10]), now: time.Now,
		log: o.Log.With("replica", o.Identity), wake: make(chan struct{}, 1), listed: make(chan struct{}, 1), posts: make(chan struct{}, 1),
		view: newView(o.Name), troubles: map[string]string{}, outbox: outbox{}, seen: map[spot]string{},
	}, nil
}

// Run takes part until ctx ends, and leaves then: others take what it held at once. So let the
// fleet end before. It may be called once.
func (r *Replica) Run(ctx context.Context, f Fleet) {
	r.mu.Lock()
	r.fleet = f
	r.mu.Unlock()
	for _, loop := range []func(context.Context){r.watch, r.attend, r.tend, r.post} {
		r.work.Go(func() { loop(ctx) })
	}
	r.work.Wait()
	r.leave(context.WithoutCancel(ctx))
}

// Owns implements [fleet.Ownership]: it tells whether this replica makes the passes of a pipeline, by
// its shard key. Several may for a moment, and for as long as the API server is away.
func (r *Replica) Owns(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mine[sliceOf(key)]
}

// MayPublish tells whether this replica, and no other, may now do for a pipeline, by its shard key,
// what others see: comments, statuses, events, moving tags. Ask right before each.
func (r *Replica) MayPublish(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ours(sliceOf(key))
}

// ours tells whether a slice is surely held by us. A release may have been carried out before,
// or without, an answer to it.
func (r *Replica) ours(n int) bool {
	lease := r.view.slices[n]
	return r.stands() && holder(lease) == r.term && lease.ResourceVersion != r.given[n]
}

// stands tells whether our term can be trusted. A wall clock that was set forward costs no more
// than a new term; the monotonic clock stands still while the machine is suspended.
func (r *Replica) stands() bool {
	now := r.now()
	since := max(now.Sub(r.renewed), now.Round(0).Sub(r.renewed.Round(0)))
	return r.term != "" && since < trustTime
}

// poke lets a round begin.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits, and tells whether ctx goes on.
func pause(ctx context.Context, wait time.Duration, woken <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-woken:
	}
	return ctx.Err() == nil
}

// report logs that something is in trouble, or no longer, once.
func (r *Replica) report(what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	r.mu.Lock()
	before := r.troubles[what]
	if r.troubles[what] = text; text == "" {
		delete(r.troubles, what)
	}
	r.mu.Unlock()
	switch {
	case text != "" && before == "":
		r.log.Warn("leases: trouble", "what", what, "err", text)
	case text == "" && before != "":
		r.log.Info("leases: trouble is over", "what", what)
	}
}
