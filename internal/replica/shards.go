package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// maxConflicts bounds how often a Lease is written again after somebody else wrote it, for example
	// a trigger.
	maxConflicts = 5
)

// ownership takes the shards that this replica should have, and releases those that it should not have.
type ownership struct {
	leases   Leases
	state    *state
	problems *problems
	log      *slog.Logger
	fleet    Fleet
	name     string                // of the fleet
	self     string                // the name of our member Lease
	settled  func(context.Context) // called at the end of each round
	work     sync.WaitGroup        // the shards that are being released
}

// run makes a round whenever something has changed, and every roundTime, until ctx ends.
func (o *ownership) run(ctx context.Context) {
	for pause(ctx, roundTime, o.state.wake) {
		o.round(ctx)
	}
	o.work.Wait()
}

func (o *ownership) round(ctx context.Context) {
	o.state.mu.Lock()
	term := o.state.term
	if !o.state.stands() {
		o.state.mu.Unlock()
		return
	}
	p, seen := decide(o.state.situation(o.self)), o.state.view.shards
	o.state.mu.Unlock()
	o.expel(ctx, p.expel)
	each(p.take, func(n int) { o.acquire(ctx, term, n, seen[n]) })
	o.release(ctx, term, p.release)
	o.settle(term)
	o.settled(ctx)
}

// each calls do for all, up to maxWrites at a time, and waits for them.
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

// expel ends the terms of members that did not renew them. If a member did so after all, or another
// replica has expelled it, the watch will show that.
func (o *ownership) expel(ctx context.Context, members []*coordinationv1.Lease) {
	each(members, func(lease *coordinationv1.Lease) {
		call, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		err := o.leases.Delete(call, lease)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		o.problems.report("expel "+lease.Name, err)
		if err != nil {
			return
		}
		o.log.Info("leases: a replica has died", "term", holder(lease))
		o.state.deleted(lease)
	})
}

// acquire takes a shard that is free, or makes sure of one that we hold. lease is the version that the
// decision was made for: in a later one the shard may be held by another.
func (o *ownership) acquire(ctx context.Context, term string, n int, lease *coordinationv1.Lease) {
	o.state.mu.Lock()
	draining := o.state.draining[n]
	o.state.mu.Unlock()
	if draining {
		return // It will be released, and the next round decides.
	}
	err := o.give(ctx, n, lease, term)
	if errors.Is(err, errOvertaken) {
		return // Another replica has taken it.
	}
	o.problems.report(fmt.Sprintf("shard %d", n), err)
}

var errOvertaken = errors.New("the shard has another holder")

// give writes a holder into a shard's Lease if its holder is still the one in lease; other changes of
// the Lease are kept. lease is nil if there is none.
func (o *ownership) give(ctx context.Context, n int, lease *coordinationv1.Lease, term string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	from := holder(lease)
	var err error
	for range maxConflicts {
		var after *coordinationv1.Lease
		if lease == nil {
			after, err = o.leases.Create(ctx, held(emptyLease(o.name, shardName(o.name, n)), term, o.state.now()))
		} else {
			if term == "" {
				o.state.mu.Lock()
				o.state.given[n] = lease.ResourceVersion
				o.state.mu.Unlock()
			}
			after, err = o.leases.Update(ctx, held(lease, term, o.state.now()))
		}
		if err == nil {
			o.state.wrote(after)
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
		lease, err = o.leases.Get(ctx, shardName(o.name, n))
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

// held is a shard's Lease with another holder, or without a holder if term is empty.
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

// release frees shards: no further passes begin, and each shard is freed when its passes under way have
// ended.
func (o *ownership) release(ctx context.Context, term string, numbers []int) {
	o.state.mu.Lock()
	numbers = slices.DeleteFunc(numbers, func(n int) bool { return o.state.draining[n] })
	for _, n := range numbers {
		o.state.draining[n], o.state.owned[n] = true, false
	}
	o.state.mu.Unlock()
	if len(numbers) == 0 {
		return
	}
	o.fleet.Rebalance()
	for _, n := range numbers {
		o.work.Go(func() { o.drain(ctx, term, n) })
	}
}

// drain waits for a shard's passes and frees it, unless we should have it again by then.
func (o *ownership) drain(ctx context.Context, term string, n int) {
	err := o.fleet.Idle(ctx, func(key string) bool { return shardOf(key) == n })
	o.state.mu.Lock()
	lease, still := o.state.view.shards[n], false
	if o.state.stands() && o.state.term == term {
		still = slices.Contains(decide(o.state.situation(o.self)).release, n)
	}
	o.state.mu.Unlock()
	if err == nil && still {
		err = o.give(ctx, n, lease, "")
	}
	o.problems.report(fmt.Sprintf("release of shard %d", n), err)
	o.state.mu.Lock()
	o.state.draining[n] = false
	o.state.mu.Unlock()
	poke(o.state.wake)
}

// settle makes Owns answer by the Leases. Without a term that can be trusted, the answers stay as they
// were.
func (o *ownership) settle(term string) {
	o.state.mu.Lock()
	if o.state.term != term || !o.state.stands() {
		o.state.mu.Unlock()
		return
	}
	before, count := o.state.owned, 0
	for n, lease := range o.state.view.shards {
		if o.state.owned[n] = holder(lease) == term && !o.state.draining[n]; o.state.owned[n] {
			count++
		}
	}
	changed, members := o.state.owned != before, len(o.state.view.members)
	o.state.mu.Unlock()
	if changed {
		o.log.Info("leases: the share of the fleet changed", "shards", count, "of", shardCount, "replicas", members)
		o.fleet.Rebalance()
	}
}
