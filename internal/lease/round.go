package lease

import (
	"context"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxConflicts limits how often a round starts again because another process wrote the Lease meanwhile.
	maxConflicts = 5
	// maxLeaseTime limits the duration in a Lease written by another version of agentry.
	maxLeaseTime = time.Minute
)

// record is the part of the Lease that changes when it is taken, renewed or given up, but not with messages.
type record struct {
	holder  string
	renewed int64         // in microseconds
	lasts   time.Duration // how long it is valid without a change
}

// step is the action of a round.
type step struct {
	write *coordinationv1.Lease // nil: nothing
	due   []string              // messages to receive
	sent  map[string]string     // messages of the outbox that are written or received
}

// round reads the Lease, decides, and writes if necessary. It starts again if another process wrote the Lease
// meanwhile.
func (e *Elector) round(ctx context.Context, m Member) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var err error
	for range maxConflicts {
		began := e.now()
		lease, write := (*coordinationv1.Lease)(nil), e.options.Leases.Update
		lease, err = e.options.Leases.Get(ctx, e.options.Name)
		if apierrors.IsNotFound(err) {
			lease, write, err = nil, e.options.Leases.Create, nil
		}
		if err != nil {
			return err
		}
		s := e.decide(lease)
		for _, message := range s.due {
			if err := m.Receive(message); err != nil {
				e.log.Warn("lease: dropped a message", "bytes", len(message), "err", err)
			}
		}
		if s.write != nil {
			lease, err = write(ctx, s.write)
		}
		if err == nil {
			e.settle(lease, began, s.sent, m)
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return err
}

// decide returns the action for the Lease, which is nil if it does not exist. A deleted Lease counts as unchanged,
// because its holder may not know yet.
func (e *Elector) decide(lease *coordinationv1.Lease) (s step) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	e.observe(lease, now)
	ours := e.seen.holder == e.holder
	mayTake := ours || e.seen.holder == "" || now.Sub(e.changed) >= e.seen.lasts
	if lease == nil && (e.leaving || !mayTake) {
		return s
	}
	if ours && e.active && !e.leaving {
		s.write, s.sent = e.held(lease, now), maps.Clone(e.outbox)
		s.due = e.removeMessages(s.write)
		return s
	}
	out := lease.DeepCopy()
	if !e.leaving && mayTake {
		out = e.held(lease, now)
	} else if ours {
		out.Spec.HolderIdentity = nil
	}
	if s.sent = addMessages(out, e.outbox); len(s.sent) > 0 || ours || mayTake && !e.leaving {
		s.write = out
	}
	return s
}

// observe records when the Lease changed. A process without contact has seen no renewals, so for it the Lease changes
// when contact is restored. e.mu is held.
func (e *Elector) observe(lease *coordinationv1.Lease, now time.Time) {
	seen := e.seen
	if lease != nil {
		seen = recordOf(lease)
	}
	if seen != e.seen || !e.isFresh(e.contact) {
		e.seen, e.changed = seen, now
	}
}

// settle records a successful round that began at a moment and left the Lease in this state.
func (e *Elector) settle(lease *coordinationv1.Lease, began time.Time, sent map[string]string, m Member) {
	e.mu.Lock()
	was, before := e.active, e.named
	e.contact = began
	e.observe(lease, e.now())
	e.named = e.seen.holder
	e.active, e.renewed = lease != nil && e.seen.holder == e.holder, time.Time{}
	if e.active {
		e.renewed = began
	}
	for key, text := range sent {
		if e.outbox[key] == text {
			delete(e.outbox, key)
		}
	}
	active, named, leaving := e.active, e.named, e.leaving
	e.mu.Unlock()
	if leaving {
		return
	}
	if named != before && named != "" {
		e.log.Info("lease: a replica is active", "holder", named, "this", active)
	}
	if active != was {
		m.SetActive(active)
	}
}

// held returns the Lease as this process takes or renews it. lease is nil if it does not exist.
func (e *Elector) held(lease *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	out := lease.DeepCopy()
	if out == nil {
		out = &coordinationv1.Lease{}
		out.Name, out.Labels = e.options.Name, map[string]string{"app.kubernetes.io/managed-by": "agentry"}
	}
	spec, at := &out.Spec, metav1.NewMicroTime(now)
	if recordOf(out).holder != e.holder {
		transitions := int32(1)
		if spec.LeaseTransitions != nil {
			transitions += *spec.LeaseTransitions
		}
		spec.AcquireTime, spec.LeaseTransitions = &at, &transitions
	}
	seconds := int32(leaseTime / time.Second)
	spec.HolderIdentity, spec.LeaseDurationSeconds, spec.RenewTime = &e.holder, &seconds, &at
	return out
}

func recordOf(lease *coordinationv1.Lease) record {
	out := record{lasts: leaseTime}
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		out.lasts = min(max(time.Duration(*s)*time.Second, leaseTime), maxLeaseTime)
	}
	if lease.Spec.HolderIdentity != nil {
		out.holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.RenewTime != nil {
		out.renewed = lease.Spec.RenewTime.UnixMicro()
	}
	return out
}
