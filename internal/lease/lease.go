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
	// roundTime is the time between two reads of the Lease, and minGap the shortest.
	roundTime, minGap = 2 * time.Second, 500 * time.Millisecond
	// leaseTime is the time for which the Lease must not have changed before another process takes it.
	leaseTime = 15 * time.Second
	// TrustTime is the time for which a process trusts the Lease after it began to renew it.
	TrustTime = 10 * time.Second
	// Margin is the time between the moment when a process stops trusting the Lease, and the first moment when another
	// one can take it. It is for work in progress, and for clocks that run unevenly.
	Margin = leaseTime - TrustTime
	// callTime limits a round: after two failed rounds, the next may still renew the Lease in time.
	callTime = 3 * time.Second
	// leaveTime limits the time for giving up the Lease.
	leaveTime = 5 * time.Second
)

// Member is a process that an Elector makes active or passive. It is passive before the first call.
type Member interface {
	// SetActive tells whether this process is active. It is called at each change, by one goroutine.
	SetActive(active bool)
	// Receive is called with each message that this or another process sent, right before an active process renews the
	// Lease. An error means that the message is dropped.
	Receive(message string) error
}

// Options are the settings of an Elector.
type Options struct {
	Leases Leases
	// Name is the name of the Lease. One of the processes with the same name is elected.
	Name string
	// Identity distinguishes this process from others that run: the name of the pod or the host.
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
	seen    record    // the Lease when last read or written
	changed time.Time // when seen last changed, by our clock
	named   string    // the last holder that was logged
	leaving bool
	active  bool              // we held the Lease when it was last read
	renewed time.Time         // when the last good renewal began; zero while another process holds the Lease
	contact time.Time         // when the last good round began
	outbox  map[string]string // messages that are not yet on the Lease, by annotation
	problem error             // error of the last round
	silent  bool              // it is logged that the Lease can no longer be trusted
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

// Run takes part until ctx ends, and then gives up the Lease, so that another process takes it at once. So the work of
// the active process must end first. Run may be called once.
func (e *Elector) Run(ctx context.Context, m Member) {
	for ctx.Err() == nil {
		e.report(e.round(ctx, m))
		pause(ctx, minGap, nil) // Messages that arrive meanwhile need only one write.
		pause(ctx, roundTime-minGap, e.wake)
	}
	e.mu.Lock()
	e.leaving, e.renewed = true, time.Time{}
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := e.round(ctx, m); err != nil {
		e.log.Warn("lease: could not be given up; it expires by itself", "err", err)
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

// Owns reports whether this process, and no other, now holds the Lease. Call it right before each write that only the
// active process may do.
func (e *Elector) Owns() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.isFresh(e.renewed)
}

// isFresh reports whether a moment is less than TrustTime ago by both clocks. Setting the wall clock forward costs at
// most one renewal; the monotonic clock does not count the time for which the machine was suspended. e.mu is held.
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
		e.log.Warn("lease: cannot be read or renewed", "err", err)
	case err == nil && failed:
		e.log.Info("lease: can be read and renewed again")
	}
	if silent && !wasSilent {
		e.log.Warn("lease: not renewed for too long; another replica may become active, so this one writes and posts "+
			"nothing", "after", TrustTime)
	}
}

// Status is the state of an elector, for people and metrics.
type Status struct {
	// Active means that this process held the Lease when it last read it.
	Active bool
	// Connected means that it has recently read the Lease, and renewed it if it is active.
	Connected bool
	// Holder names the process that held the Lease when it was last read. It is empty if no holder is known.
	Holder string
	// Waiting is the number of messages that are not yet on the Lease.
	Waiting int
	// Problem is the error of the last read or renewal of the Lease, or nil.
	Problem error
}

// Status returns the present state.
func (e *Elector) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Status{Active: e.active, Connected: e.isFresh(e.contact), Holder: e.named, Waiting: len(e.outbox),
		Problem: e.problem}
}
