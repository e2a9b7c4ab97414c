package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// roundTime is the time between two looks at the Lease, and minGap the least one.
	roundTime, minGap = 2 * time.Second, 500 * time.Millisecond
	// leaseTime is how long the Lease must not have changed before another replica takes it.
	leaseTime = 15 * time.Second
	// trustTime is how long a replica trusts the Lease after it began to renew it. The rest up to
	// leaseTime is for side effects under way, and for clocks that run unevenly.
	trustTime = 10 * time.Second
	// callTime bounds a round: after two that fail, the next may still renew the Lease in time.
	callTime = 3 * time.Second
	// leaveTime bounds what is done at the end.
	leaveTime = 5 * time.Second
	// maxNameBytes and maxIdentityBytes bound what is written into the Lease.
	maxNameBytes, maxIdentityBytes = 63, 128
)

// Fleet is the fleet that a Replica directs.
type Fleet interface {
	// SetActive says whether to make passes. A fleet makes none before the first call.
	SetActive(active bool)
	// Trigger is called with what this or another replica forwarded.
	Trigger(t fleet.Trigger)
}

// Options are the settings of a Replica.
type Options struct {
	Leases Leases
	// Name is the name of the Lease: replicas with one name in one namespace run one fleet.
	Name string
	// Identity tells this replica from the others that run: the pod's name, or the host's.
	Identity string
	Log      *slog.Logger // nil: nothing is logged
}

// Replica is one of those that run a fleet, one of which is active. It works while Run runs.
type Replica struct {
	options Options
	log     *slog.Logger
	holder  string        // unique to this process
	wake    chan struct{} // a trigger waits to be written
	now     func() time.Time

	mu      sync.Mutex
	seen    record    // the Lease as it was last read or written
	changed time.Time // when that last changed, by our clock
	named   string    // the holder that was logged last
	leaving bool
	active  bool              // we held the Lease when it was last read
	renewed time.Time         // when the last good renewal began; zero while another replica holds the Lease
	contact time.Time         // when the last good round began
	outbox  map[string]string // triggers that are not on the Lease yet, by annotation
	problem string            // why the last round failed
	silent  bool              // active, but the Lease can no longer be trusted
}

// New makes a replica. A name that a Lease cannot have, and an empty identity, are errors.
func New(o Options) (*Replica, error) {
	if len(o.Name) > maxNameBytes || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(o.Name) {
		return nil, fmt.Errorf("name of the replicas %q: must be up to %d lower-case letters, digits and dashes", o.Name, maxNameBytes)
	}
	if o.Identity == "" || len(o.Identity) > maxIdentityBytes {
		return nil, fmt.Errorf("identity %q: must have 1 to %d characters", o.Identity, maxIdentityBytes)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Replica{
		options: o, log: o.Log.With("replica", o.Identity), now: time.Now, wake: make(chan struct{}, 1), outbox: map[string]string{},
		holder: o.Identity + "_" + strings.ToLower(rand.Text()[:10]),
	}, nil
}

// Run takes part until ctx ends, and then gives up the Lease, so that another replica takes it at once. So
// end the fleet before. It may be called once.
func (r *Replica) Run(ctx context.Context, f Fleet) {
	for ctx.Err() == nil {
		r.report(r.round(ctx, f))
		pause(ctx, minGap, nil) // What comes meanwhile is one write.
		pause(ctx, roundTime-minGap, r.wake)
	}
	r.mu.Lock()
	r.leaving, r.renewed = true, time.Time{}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := r.round(ctx, f); err != nil {
		r.log.Warn("lease: it could not be given up; it expires by itself", "err", err)
	}
}

// pause waits for a time, or until it is woken or ctx ends.
func pause(ctx context.Context, wait time.Duration, woken <-chan struct{}) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-woken:
	}
}

// MayPublish reports whether this replica, and no other, may now do what others see: comments, statuses,
// events, moving tags. Ask right before each.
func (r *Replica) MayPublish() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isFresh(r.renewed)
}

// isFresh reports whether a moment is less than trustTime ago by both clocks. If the wall clock was set
// forward, that costs no more than one renewal; the monotonic clock does not count the time for which the
// machine was suspended. r.mu is held.
func (r *Replica) isFresh(moment time.Time) bool {
	now := r.now()
	return !moment.IsZero() && max(now.Sub(moment), now.Round(0).Sub(moment.Round(0))) < trustTime
}

// report logs once that the Lease cannot be read or written, once that it can be again, and once that it
// can no longer be trusted.
func (r *Replica) report(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	r.mu.Lock()
	before, wasSilent := r.problem, r.silent
	if r.problem = ""; err != nil {
		r.problem = err.Error()
	}
	r.silent = r.active && !r.isFresh(r.renewed)
	problem, silent := r.problem, r.silent
	r.mu.Unlock()
	switch {
	case problem != "" && before == "":
		r.log.Warn("lease: it cannot be read or renewed", "err", problem)
	case problem == "" && before != "":
		r.log.Info("lease: it can be read and renewed again")
	}
	if silent && !wasSilent {
		r.log.Warn("lease: not renewed for too long; another replica may become active, so this one posts nothing", "after", trustTime)
	}
}
