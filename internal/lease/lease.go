package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// roundTime is the time between two looks at the Lease, and minGap the least one.
	roundTime, minGap = 2 * time.Second, 500 * time.Millisecond
	// leaseTime is how long the Lease must not have changed before another process takes it.
	leaseTime = 15 * time.Second
	// TrustTime is how long a process trusts the Lease after it began to renew it.
	TrustTime = 10 * time.Second
	// Margin is the time between the moment at which a process stops to trust the Lease, and the first moment at which
	// another one can take it. It is for what is under way, and for clocks that run unevenly.
	Margin = leaseTime - TrustTime
	// callTime bounds a round: after two that fail, the next may still renew the Lease in time.
	callTime = 3 * time.Second
	// leaveTime bounds what is done at the end.
	leaveTime = 5 * time.Second
)

// Member is what an Elector makes active or passive. It is passive before the first call.
type Member interface {
	// SetActive says whether this process is active. It is called at each change, by one goroutine.
	SetActive(active bool)
	// Receive is called with each message that this or another process sent, right before an active process
	// renews the Lease. An error says why the message is dropped.
	Receive(message string) error
}

// Options are the settings of an Elector.
type Options struct {
	Leases Leases
	// Name is the name of the Lease. Processes that name the same one elect one of them.
	Name string
	// Identity tells this process from the others that run: the pod's name, or the host's.
	Identity string
	Log      *slog.Logger // nil: nothing is logged
}

// Elector takes part in the election for one process, while Run runs.
type Elector struct {
	options Options
	log     *slog.Logger
	holder  string        // unique to this process
	wake    chan struct{} // a message waits to be written
	now     func() time.Time

	mu      sync.Mutex
	seen    record    // the Lease as it was last read or written
	changed time.Time // when that last changed, by our clock
	named   string    // the holder that was logged last
	leaving bool
	active  bool              // we held the Lease when it was last read
	renewed time.Time         // when the last good renewal began; zero while another process holds the Lease
	contact time.Time         // when the last good round began
	outbox  map[string]string // messages that are not on the Lease yet, by annotation
	problem error             // why the last round failed
	silent  bool              // active, but the Lease can no longer be trusted
}

// New makes an elector.
func New(o Options) *Elector {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Elector{
		options: o, log: o.Log.With("replica", o.Identity), now: time.Now, wake: make(chan struct{}, 1),
		outbox: map[string]string{},
		holder: o.Identity + "_" + strings.ToLower(rand.Text()[:10]),
	}
}

// Run takes part until ctx ends, and then gives up the Lease, so that another process takes it at once. So
// end what the active process does before. It may be called once.
func (e *Elector) Run(ctx context.Context, m Member) {
	for ctx.Err() == nil {
		e.report(e.round(ctx, m))
		pause(ctx, minGap, nil) // What comes meanwhile is one write.
		pause(ctx, roundTime-minGap, e.wake)
	}
	e.mu.Lock()
	e.leaving, e.renewed = true, time.Time{}
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := e.round(ctx, m); err != nil {
		e.log.Warn("lease: it could not be given up; it expires by itself", "err", err)
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

// Owns reports whether this process, and no other, now holds the Lease. Ask right before each write that only
// the active process may do.
func (e *Elector) Owns() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.isFresh(e.renewed)
}

// isFresh reports whether a moment is less than TrustTime ago by both clocks. If the wall clock was set
// forward, that costs no more than one renewal; the monotonic clock does not count the time for which the
// machine was suspended. e.mu is held.
func (e *Elector) isFresh(moment time.Time) bool {
	now := e.now()
	return !moment.IsZero() && max(now.Sub(moment), now.Round(0).Sub(moment.Round(0))) < TrustTime
}

// report logs once that the Lease cannot be read or written, once that it can be again, and once that it
// can no longer be trusted.
func (e *Elector) report(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	e.mu.Lock()
	failed, wasSilent := e.problem != nil, e.silent
	e.problem = err
	e.silent = e.active && !e.isFresh(e.renewed)
	silent := e.silent
	e.mu.Unlock()
	switch {
	case err != nil && !failed:
		e.log.Warn("lease: it cannot be read or renewed", "err", err)
	case err == nil && failed:
		e.log.Info("lease: it can be read and renewed again")
	}
	if silent && !wasSilent {
		e.log.Warn("lease: not renewed for too long; another replica may become active, so this one writes and posts "+
			"nothing", "after", TrustTime)
	}
}

// Status is the state of an elector, for people and metrics.
type Status struct {
	// Active says that this process held the Lease when it last read it.
	Active bool
	// Connected says that it could read the Lease, and renew it if it is active, not long ago.
	Connected bool
	// Holder names the process that held the Lease when it was last read. Empty: nobody is known to hold it.
	Holder string
	// Waiting is how many messages are not on the Lease yet.
	Waiting int
	// Problem is why the Lease could not be read or renewed when it was last tried.
	Problem error
}

// Status returns the present state.
func (e *Elector) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Status{Active: e.active, Connected: e.isFresh(e.contact), Holder: e.named, Waiting: len(e.outbox),
		Problem: e.problem}
}
