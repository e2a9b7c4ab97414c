package poll

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
)

// Pod is a pod to poll.
type Pod struct {
	Owner merge.Owner
	Addr  netip.AddrPort
	// UID tells apart pods that had the same address one after the other. It may be empty.
	UID string
	// Name and Node are shown to people.
	Name, Node string
	// Ready is whether Kubernetes finds the pod ready. A pod that turns ready is polled at once.
	Ready bool
}

// id identifies a pod: if it changes, it is another pod.
type id struct {
	owner merge.Owner
	addr  netip.AddrPort
	uid   string
}

func (p Pod) id() id { return id{p.Owner, p.Addr, p.UID} }

// State is the state of a pod.
type State string

// The states. A pod that is gone has none: it is forgotten.
const (
	StateNew     State = "new"     // not tried yet
	StateGood    State = "good"    // its last poll was answered with targets
	StateEmpty   State = "empty"   // its last poll was answered without targets
	StateFailing State = "failing" // its last poll failed; what was known before is kept
)

// States lists all states.
func States() []State { return []State{StateNew, StateGood, StateEmpty, StateFailing} }

const (
	// firstRetry is the first wait of a pod that never answered, or that failed once.
	firstRetry = time.Second
	// longestBackOff bounds the waits of a pod that answered before.
	longestBackOff = 5 * time.Minute
)

// pod is a pod and what is known about it. The poller's lock guards it.
type pod struct {
	Pod
	state State
	// published is what the document has of the pod: the last good answer, and groups that only the one before it had.
	// So a target is dropped when two good answers in a row lack it.
	published *merge.Fragment
	// answer is the last good answer, and sum the hash of its bytes.
	answer *merge.Fragment
	sum    [sha256.Size]byte
	drops  []merge.Drop
	// since is when the pod entered its state, good when it last answered.
	since, good, tried time.Time
	failure            *Failure
	failures           int // in a row
	// awaited marks the pods that the round waits for.
	awaited bool

	ctx    context.Context // ends when the pod is gone
	cancel context.CancelFunc

	queue   *queue
	index   int    // in the queue's heap; -1 while in flight
	holds   *queue // whose worker the poll in flight holds; nil if the poll is slow
	due     time.Time
	grid    time.Time // the due time, without jitter
	turned  bool      // turned ready while in flight
	rounded bool      // was spread over the interval
}

// accept records a good answer. It returns whether the document changes.
func (p *pod) accept(now time.Time, a answer) (changed bool) {
	before := p.published
	if a.unchanged {
		p.published = p.answer
	} else {
		p.published = a.fragment.Holding(p.answer)
		p.answer, p.sum, p.drops = a.fragment, a.sum, a.drops
	}
	state := StateGood
	if p.answer.Targets() == 0 {
		state = StateEmpty
	}
	p.enter(now, state)
	p.good, p.failure, p.failures = now, nil, 0
	return !p.published.Equal(before)
}

// fail records a failed poll. What is published stays.
func (p *pod) fail(now time.Time, f *Failure) {
	p.enter(now, StateFailing)
	p.failure = f
	p.failures++
}

func (p *pod) enter(now time.Time, s State) {
	p.tried = now
	if p.state != s {
		p.state, p.since = s, now
	}
}

// answered reports whether the pod ever gave a good answer.
func (p *pod) answered() bool { return !p.good.IsZero() }

// batches is how many times in an interval polls begin. Polls that begin together cost less than
// single ones, each of which wakes the process.
const batches = 100

// plan sets when to poll next: at a whole hundredth of an interval since the origin.
func (p *pod) plan(now, origin time.Time, interval time.Duration) {
	p.next(now, interval)
	p.due = origin.Add(p.due.Sub(origin).Truncate(interval / batches))
}

// next sets the exact time of the next poll.
func (p *pod) next(now time.Time, interval time.Duration) {
	if p.state == StateFailing {
		p.rounded = false
		wait := p.backOff(interval)
		if p.turned {
			wait, p.failures = 0, 0
		}
		p.turned = false
		p.due = now.Add(wait + jitter(wait))
		return
	}
	p.turned = false
	switch {
	case !p.rounded: // Spread pods that came at the same time.
		p.grid, p.rounded = now.Add(time.Duration((0.1+0.9*rand.Float64())*float64(interval))), true
	case p.grid.Add(interval).Before(now): // Late by a whole interval.
		p.grid = now.Add(interval)
	default:
		p.grid = p.grid.Add(interval)
	}
	p.due = p.grid.Add(jitter(interval))
}

// backOff returns how long a failing pod waits.
func (p *pod) backOff(interval time.Duration) time.Duration {
	wait, most := firstRetry, interval
	switch {
	case p.stumbled():
		return firstRetry
	case p.answered():
		wait, most = interval, max(interval, longestBackOff)
	}
	for range p.failures - 1 {
		if wait *= 2; wait >= most {
			break
		}
	}
	return min(wait, most)
}

// stumbled reports whether a pod that answered before failed once, and not by hanging. It is polled
// again soon, and does not wait behind pods that hang.
func (p *pod) stumbled() bool {
	return p.state == StateFailing && p.failures == 1 && p.answered() && p.failure.Reason != ReasonTimeout
}

// jitter returns a random duration of at most a twentieth of d, positive or negative.
func jitter(d time.Duration) time.Duration {
	return time.Duration((rand.Float64() - 0.5) / 10 * float64(d))
}

// Status is the state of a pod, for people and metrics.
type Status struct {
	Pod
	State State
	// Since is when it entered this state, Good when it last answered, Tried when it was last asked, Next when it
	// will be asked. Zero means never.
	Since, Good, Tried, Next time.Time
	// Failure is the error of the last poll, and Failures the number of failures in a row.
	Failure  *Failure
	Failures int
	// Answer is its last good answer, Published what the document has of it. If Good is zero, the pod gave that answer
	// to another replica.
	Answer, Published *merge.Fragment
	// Drops are the groups of the last good answer that were left out.
	Drops []merge.Drop
}

func (p *pod) status() Status {
	return Status{
		Pod: p.Pod, State: p.state, Since: p.since, Good: p.good, Tried: p.tried, Next: p.due, Failure: p.failure,
		Failures: p.failures, Answer: p.answer, Published: p.published, Drops: slices.Clone(p.drops),
	}
}
