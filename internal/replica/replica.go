package replica

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// beatTime is the time between renewals of the member Lease, retryTime that after one that failed.
	beatTime, retryTime = 5 * time.Second, time.Second
	// trustTime is how long a replica trusts its term after it began to renew it. The rest up to
	// leaseTime is for side effects under way, and for clocks that run unevenly.
	trustTime = 10 * time.Second
	// callTime bounds a request: two of them fail before a term lapses.
	callTime = 4 * time.Second
	// roundTime is the time between two looks at the clock: members expire without an event.
	roundTime = time.Second
	// leaveTime bounds what is done at the end.
	leaveTime = 5 * time.Second
)

// Fleet is the part of [fleet.Fleet] that a Replica uses.
type Fleet interface {
	// Rebalance is called after the answers of Owns have changed.
	Rebalance()
	// Trigger is called with what another replica forwarded.
	Trigger(t fleet.Trigger) int
	// ShardKey is what Owns is asked with for a pipeline.
	ShardKey(pipeline string) string
	// Idle waits until no pass of these keys is under way. Owns is false for them already.
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
	options    Options
	state      *state
	problems   *problems
	watcher    *watcher
	membership *membership
	ownership  *ownership
	forwarder  *forwarder
}

// New makes a replica. A name or an identity that cannot be part of a Lease's name is an error.
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
	log := o.Log.With("replica", o.Identity)
	s := &state{wake: make(chan struct{}, 1), listed: make(chan struct{}, 1), now: time.Now, view: newView(o.Name)}
	p := &problems{log: log, texts: map[string]string{}}
	f := &forwarder{
		leases: o.Leases, state: s, problems: p, log: log, name: o.Name,
		posts: make(chan struct{}, 1), outbox: outbox{}, seen: map[spot]string{},
	}
	return &Replica{
		options: o, state: s, problems: p, forwarder: f,
		watcher: &watcher{leases: o.Leases, state: s, problems: p},
		membership: &membership{
			leases: o.Leases, state: s, problems: p, log: log,
			fleet: o.Name, identity: o.Identity, name: self, process: strings.ToLower(rand.Text()[:10]),
		},
		ownership: &ownership{leases: o.Leases, state: s, problems: p, log: log, name: o.Name, self: self, settled: f.deliver},
	}, nil
}

// Run takes part until ctx ends, and then leaves: others take its shards at once. So end the fleet
// before. It may be called once.
func (r *Replica) Run(ctx context.Context, f Fleet) {
	r.state.mu.Lock()
	r.forwarder.fleet = f
	r.state.mu.Unlock()
	r.ownership.fleet = f
	var work sync.WaitGroup
	for _, loop := range []func(context.Context){r.watcher.run, r.membership.run, r.ownership.run, r.forwarder.run} {
		work.Go(func() { loop(ctx) })
	}
	work.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	r.forwarder.flush(ctx)
	r.membership.leave(ctx)
}

// Owns implements [fleet.Ownership]: it reports whether this replica makes the passes of a pipeline, by
// its shard key. Several replicas may own it for a moment, and while the API server is away.
func (r *Replica) Owns(key string) bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.owned[shardOf(key)]
}

// MayPublish reports whether this replica, and no other, may now do what others see for a pipeline, by
// its shard key: comments, statuses, events, moving tags. Ask right before each.
func (r *Replica) MayPublish(key string) bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.mayPublish(shardOf(key))
}

// Forward passes a trigger on to the replicas that run its pipelines, or will run them next, but not to
// this one. It does not wait; what cannot be written now is tried again. A trigger that is too large, or
// one too many, is an error.
func (r *Replica) Forward(t fleet.Trigger) error { return r.forwarder.forward(t) }

// poke wakes who waits for c, now or later.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits for a time or until it is woken. It reports whether ctx goes on.
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
