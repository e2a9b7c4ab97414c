package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxWrites is how many Leases are written at a time.
	maxWrites = 8
	// maxConflicts bounds how often a Lease is written again that somebody else wrote meanwhile:
	// triggers come as they like.
	maxConflicts = 5
)

// tend makes the slices ours that should be, and hands over those that should not.
func (r *Replica) tend(ctx context.Context) {
	for pause(ctx, roundTime, r.wake) {
		r.round(ctx)
	}
}

func (r *Replica) round(ctx context.Context) {
	r.mu.Lock()
	term := r.term
	if !r.stands() {
		r.mu.Unlock()
		return
	}
	p, seen := decide(r.situation()), r.view.slices
	r.mu.Unlock()
	r.expel(ctx, p.expel)
	each(p.take, func(n int) { r.acquire(ctx, term, n, seen[n]) })
	r.release(ctx, term, p.release)
	r.settle(term)
	r.deliver(ctx)
}

func (r *Replica) situation() situation {
	return situation{view: &r.view, self: r.self, term: r.term, given: r.given, now: r.now()}
}

// each calls do for all, up to maxWrites at a time, and waits.
func each[T any](all []T, do func(T)) {
	var working sync.WaitGroup
	slots := make(chan struct{}, maxWrites)
	for _, one := range all {
		slots <- struct{}{}
		working.Go(func() {
			defer func() { <-slots }()
			do(one)
		})
	}
	working.Wait()
}

// expel ends the terms of members that did not renew them. One that did after all, or that
// another replica expelled, is left to the watch.
func (r *Replica) expel(ctx context.Context, members []*coordinationv1.Lease) {
	each(members, func(lease *coordinationv1.Lease) {
		call, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		err := r.leases.Delete(call, lease)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		r.report("expel "+lease.Name, err)
		if err != nil {
			return
		}
		r.log.Info("leases: a replica is gone", "gone", holder(lease))
		r.mu.Lock()
		r.writes++
		r.view.drop(lease)
		r.mu.Unlock()
		poke(r.wake)
	})
}

// acquire takes a slice that is free, or makes sure of one, by the Lease as it was when that was
// decided: by a later one it may be another's.
func (r *Replica) acquire(ctx context.Context, term string, n int, lease *coordinationv1.Lease) {
	r.mu.Lock()
	draining := r.draining[n]
	r.mu.Unlock()
	if draining {
		return // It is about to be released, and decided on again then.
	}
	err := r.give(ctx, n, lease, term)
	if errors.Is(err, errOvertaken) {
		return // Another replica thought so too, for a moment.
	}
	r.report(fmt.Sprintf("slice %d", n), err)
}

var errOvertaken = errors.New("the slice has another holder")

// give writes a holder into a slice's Lease, if that has still the one that it has in lease;
// what else was changed in it, stays. lease is nil if there is none.
func (r *Replica) give(ctx context.Context, n int, lease *coordinationv1.Lease, term string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	from := holder(lease)
	var err error
	for range maxConflicts {
		var after *coordinationv1.Lease
		if lease == nil {
			after, err = r.leases.Create(ctx, held(r.empty(sliceName(r.options.Name, n)), term, r.now()))
		} else {
			if term == "" {
				r.mu.Lock()
				r.given[n] = lease.ResourceVersion
				r.mu.Unlock()
			}
			after, err = r.leases.Update(ctx, held(lease, term, r.now()))
		}
		if err == nil {
			r.wrote(after)
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
		lease, err = r.leases.Get(ctx, sliceName(r.options.Name, n))
		switch {
		case apierrors.IsNotFound(err):
			lease = nil
		case err != nil:
			return err
		case holder(lease) != from:
			return errOvertaken
		}
	}
	return err
}

// held is a slice's Lease with another holder; without one if term is empty.
func held(lease *coordinationv1.Lease, term string, now time.Time) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	at := metav1.NewMicroTime(now)
	if lease.Spec.HolderIdentity = &term; term == "" {
		lease.Spec.HolderIdentity = nil
	}
	transitions := int32(1)
	if lease.Spec.LeaseTransitions != nil {
		transitions += *lease.Spec.LeaseTransitions
	}
	lease.Spec.AcquireTime, lease.Spec.RenewTime, lease.Spec.LeaseTransitions = &at, &at, &transitions
	return lease
}

// release hands slices over: no further passes begin, and when those under way have ended,
// each becomes free.
func (r *Replica) release(ctx context.Context, term string, numbers []int) {
	r.mu.Lock()
	numbers = slices.DeleteFunc(numbers, func(n int) bool { return r.draining[n] })
	for _, n := range numbers {
		r.draining[n], r.mine[n] = true, false
	}
	r.mu.Unlock()
	if len(numbers) == 0 {
		return
	}
	r.fleet.Rebalance()
	for _, n := range numbers {
		r.work.Go(func() { r.drain(ctx, term, n) })
	}
}

// drain waits for a slice's passes and releases it, unless it should be ours again.
func (r *Replica) drain(ctx context.Context, term string, n int) {
	err := r.fleet.Idle(ctx, func(key string) bool { return sliceOf(key) == n })
	r.mu.Lock()
	lease, still := r.view.slices[n], false
	if r.stands() && r.term == term {
		still = slices.Contains(decide(r.situation()).release, n)
	}
	r.mu.Unlock()
	if err == nil && still {
		err = r.give(ctx, n, lease, "")
	}
	r.report(fmt.Sprintf("release of slice %d", n), err)
	r.mu.Lock()
	r.draining[n] = false
	r.mu.Unlock()
	poke(r.wake)
}

// settle makes Owns answer as the Leases say. Without a term that stands, it goes on to answer
// as before.
func (r *Replica) settle(term string) {
	r.mu.Lock()
	if r.term != term || !r.stands() {
		r.mu.Unlock()
		return
	}
	before, count := r.mine, 0
	for n, lease := range r.view.slices {
		if r.mine[n] = holder(lease) == term && !r.draining[n]; r.mine[n] {
			count++
		}
	}
	changed, members := r.mine != before, len(r.view.members)
	r.mu.Unlock()
	if changed {
		r.log.Info("leases: the share of the fleet changed", "slices", count, "of", sliceCount, "replicas", members)
		r.fleet.Rebalance()
	}
}
