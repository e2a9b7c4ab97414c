package fleet

import (
	"context"
	"time"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

const (
	// minBackoff and maxBackoff bound the delay until a failing remote or pipeline is tried again.
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
	// maxLocalBackoff is maxBackoff for errors of this machine, such as a full disk: a retry disturbs no server, and
	// people who have made room wait for it.
	maxLocalBackoff = 15 * time.Second
)

// retryDelay is how long to wait after an error, the last of so many failures in a row.
func retryDelay(err error, failures int, random func() float64) time.Duration {
	delay := backoff(failures, random)
	if isAny(err, repo.ErrCache, repo.ErrFiles) {
		return min(delay, maxLocalBackoff)
	}
	return delay
}

// backoff is how long to wait after so many failures in a row: a random time of up to 1, 2, 4 seconds
// and so on, so that remotes or pipelines that failed together are not retried together.
func backoff(failures int, random func() float64) time.Duration {
	limit := maxBackoff
	if shift := failures - 1; shift < 16 && minBackoff<<shift < maxBackoff {
		limit = minBackoff << shift
	}
	return time.Duration(random() * float64(limit))
}

// jittered changes an interval by up to a share, so that remotes which started together drift apart.
func jittered(interval time.Duration, share float64, random func() float64) time.Duration {
	if share <= 0 {
		return interval
	}
	return time.Duration(float64(interval) * (1 + share*(2*random()-1)))
}

// request asks for a pass of a pipeline; the zero value is none.
type request struct {
	reason string
	// asked is when somebody asked: the pass needs a round of each remote that began later. Zero: the
	// last rounds will do.
	asked time.Time
	token string
}

func (r request) isZero() bool { return r.reason == "" }

// carriedOver is the part of a request that remains when the definition of its pipeline changes: a caller that waits
// for a token gets a pass of the new definition.
func (r request) carriedOver() request {
	if r.token == "" {
		return request{}
	}
	return r
}

// merge joins two requests into one for the same pass. Triggers give the reason before polls, and polls
// before retries.
func (r request) merge(other request) request {
	if r.isZero() || r.reason == ReasonRetry || r.asked.IsZero() && !other.asked.IsZero() {
		r.reason = other.reason
	}
	if other.asked.After(r.asked) {
		r.asked = other.asked
	}
	if other.token != "" {
		r.token = other.token
	}
	return r
}

// step is the next action of a pipeline.
type step int

const (
	stepNone step = iota // nothing, until something changes
	stepWait             // nothing until notBefore
	stepOpen
	stepPass // unless a rollout holds it back
)

// next decides what the pipeline does, given what is known of its remotes.
func (p *runner) next(now time.Time, v view) step {
	wanted := p.instance == nil || !p.request.isZero() && p.problem == ""
	switch {
	case !p.mayRun() || p.phase != phaseIdle || !wanted:
		return stepNone
	case p.notBefore.After(now):
		return stepWait
	case p.instance == nil:
		return stepOpen
	case v.outputFails || !v.isListedSince(p.request.asked):
		return stepNone // the end of a round decides again
	}
	return stepPass
}

// alarm calls a function once, later. It is set and stopped with a lock held, but calls the function
// without: that must check whether there still is something to do.
type alarm struct{ timer *time.Timer }

func (a *alarm) set(after time.Duration, ring func()) {
	a.stop()
	a.timer = time.AfterFunc(after, ring)
}

// isSet reports whether the alarm was set and not stopped since.
func (a *alarm) isSet() bool { return a.timer != nil }

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// slots are a limited number of places, taken in order of arrival.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// take waits for a place.
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryTake takes a place if there is a free one.
func (s slots) tryTake() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) give() { <-s }
