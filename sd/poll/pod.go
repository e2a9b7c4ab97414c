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
	// UID tells a pod from an earlier one with the same address. It may be empty.
	UID string
	// Name and Node are for display.
	Name, Node string
	// Ready is the pod's readiness in Kubernetes. A pod that becomes ready is polled at once.
	Ready bool
}

// id identifies a pod.
type id struct {
	owner merge.Owner
	addr  netip.AddrPort
	uid   string
}

func (p Pod) id() id { return id{p.Owner, p.Addr, p.UID} }

// State is the state of a pod.
type State string

// The states. A pod that is gone is forgotten.
const (
	StateNew     State = "new"     // not tried yet
	StateGood    State = "good"    // its last poll was answered with targets
	StateEmpty   State = "empty"   // its last poll was answered without targets
	StateFailing State = "failing" // its last poll failed; its last good answer is kept
)

// States lists all states.
func States() []State { return []State{StateNew, StateGood, StateEmpty, StateFailing} }

const (
	// firstRetry is the first wait after a pod failed once or never answered.
	firstRetry = time.Second
	// longestBackOff bounds the wait of a failing pod that answered before.
	longestBackOff = 5 * time.Minute
)

// pod is a pod with its state. The poller's lock guards it.
type pod struct {
	Pod
	state State
	// published is the pod's part of the document: the last good answer, and groups that only the one before it had. So
	// a target is dropped only when two good answers in a row lack it.
	published *merge.Fragment
	// answer is the last good answer, and sum the hash of its bytes.
	answer *merge.Fragment
	sum    [sha256.Size]byte
	drops  []merge.Drop
	// since is when the pod entered its state, good when it last gave a good answer, tried when it was last polled.
	since, good, tried time.Time
	failure            *Failure
	failures           int // in a row
	// awaited is set while the round waits for the pod.
	awaited bool

	ctx    context.Context // of polls; this is the lifetime of the pod, and it ends when the pod is gone
	cancel context.CancelFunc

	queue  *queue
	index  int    // in the queue's heap; -1 while in flight
	holds  *queue // the queue whose worker the poll in flight holds; nil if the poll is slow
	due    time.Time
	slot   time.Time // the due time, without jitter
	turned bool      // became ready while in flight
	spread bool      // its first slot was chosen at random
}

// accept records a good answer, and returns whether the document changes.
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

// fail records a failed poll. The pod's part of the document stays.
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

// batches is the number of times in an interval at which polls begin. Polls that begin together wake the process only
// once.
const batches = 100

// plan sets the time of the next poll, rounded down to a hundredth of an interval since origin.
func (p *pod) plan(now, origin time.Time, interval time.Duration) {
	p.next(now, interval)
	p.due = origin.Add(p.due.Sub(origin).Truncate(interval / batches))
}

// next sets the exact time of the next poll.
func (p *pod) next(now time.Time, interval time.Duration) {
	if p.state == StateFailing {
		p.spread = false
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
	case !p.spread: // Spread pods that came at the same time.
		p.slot, p.spread = now.Add(time.Duration((0.1+0.9*rand.Float64())*float64(interval))), true
	case p.slot.Add(interval).Before(now): // It is late by a whole interval.
		p.slot = now.Add(interval)
	default:
		p.slot = p.slot.Add(interval)
	}
	p.due = p.slot.Add(jitter(interval))
}

// backOff returns the wait of a failing pod.
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

// stumbled reports whether a pod that answered before failed once, other than by hanging. It is polled again soon, and
// does not wait behind pods that hang.
func (p *pod) stumbled() bool {
	return p.state == StateFailing && p.failures == 1 && p.answered() && p.failure.Reason != ReasonTimeout
}

// jitter returns a random duration of at most a twentieth of d, positive or negative.
func jitter(d time.Duration) time.Duration {
	return time.Duration((rand.Float64() - 0.5) / 10 * float64(d))
}

// Status is the state of a pod, for the page and metrics.
type Status struct {
	Pod
	State State
	// Since is when it entered this state, Good when it last gave a good answer, Tried when it was last polled, Next
	// when it will be polled. Zero means never.
	Since, Good, Tried, Next time.Time
	// Failure is the error of the last poll, and Failures the number of failures in a row.
	Failure  *Failure
	Failures int
	// Answer is its last good answer, Published its part of the document. If Good is zero, the pod gave that answer to
	// another replica.
	Answer, Published *merge.Fragment
	// Drops counts the dropped groups of the last good answer.
	Drops []merge.Drop
}

func (p *pod) status() Status {
	return Status{
		Pod: p.Pod, State: p.state, Since: p.since, Good: p.good, Tried: p.tried, Next: p.due, Failure: p.failure,
		Failures: p.failures, Answer: p.answer, Published: p.published, Drops: slices.Clone(p.drops),
	}
}
