package replica

import (
	"context"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// maxConflicts bounds how often a round begins again because somebody else wrote the Lease meanwhile.
	maxConflicts = 5
	// maxLeaseTime bounds the duration in a Lease that another version of agentry wrote.
	maxLeaseTime = time.Minute
)

// record is the part of the Lease that changes when it is taken, renewed or given up. A trigger changes none of it.
type record struct {
	holder  string
	renewed int64         // in microseconds
	lasts   time.Duration // without a change
}

// step is what a round does about the Lease.
type step struct {
	write *coordinationv1.Lease // nil: nothing
	due   []fleet.Trigger       // to act on
	sent  map[string]string     // what of the outbox is written or acted on
}

// round reads the Lease, acts on it, and writes what there is to write. It begins again if somebody else
// wrote the Lease meanwhile.
func (r *Replica) round(ctx context.Context, f Fleet) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var err error
	for range maxConflicts {
		began := r.now()
		lease, write := (*coordinationv1.Lease)(nil), r.options.Leases.Update
		lease, err = r.options.Leases.Get(ctx, r.options.Name)
		if apierrors.IsNotFound(err) {
			lease, write, err = nil, r.options.Leases.Create, nil
		}
		if err != nil {
			return err
		}
		s := r.decide(lease)
		for _, t := range s.due {
			f.Trigger(t)
		}
		if s.write != nil {
			lease, err = write(ctx, s.write)
		}
		if err == nil {
			r.settle(lease, began, s.sent, f)
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return err
}

// decide returns what to do about the Lease; nil means that there is none. A deleted Lease counts as unchanged,
// because its holder may not know yet.
func (r *Replica) decide(lease *coordinationv1.Lease) (s step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.observe(lease, now)
	ours := r.seen.holder == r.holder
	mayTake := ours || r.seen.holder == "" || now.Sub(r.changed) >= r.seen.lasts
	if lease == nil && (r.leaving || !mayTake) {
		return s
	}
	if ours && r.active && !r.leaving {
		s.write, s.sent = r.held(lease, now), maps.Clone(r.outbox)
		s.due = r.removeTriggers(s.write)
		return s
	}
	out := lease.DeepCopy()
	if !r.leaving && mayTake {
		out = r.held(lease, now)
	} else if ours {
		out.Spec.HolderIdentity = nil
	}
	if s.sent = addTriggers(out, r.outbox); len(s.sent) > 0 || ours || mayTake && !r.leaving {
		s.write = out
	}
	return s
}

// observe notes when the Lease changed. A replica that had no contact has seen nobody's renewals, so for it
// the Lease changes with the contact. r.mu is held.
func (r *Replica) observe(lease *coordinationv1.Lease, now time.Time) {
	seen := r.seen
	if lease != nil {
		seen = recordOf(lease)
	}
	if seen != r.seen || !r.isFresh(r.contact) {
		r.seen, r.changed = seen, now
	}
}

// settle records a successful round that began at a moment and left the Lease like this.
func (r *Replica) settle(lease *coordinationv1.Lease, began time.Time, sent map[string]string, f Fleet) {
	r.mu.Lock()
	was, before := r.active, r.named
	r.contact = began
	r.observe(lease, r.now())
	r.named = r.seen.holder
	r.active, r.renewed = lease != nil && r.seen.holder == r.holder, time.Time{}
	if r.active {
		r.renewed = began
	}
	for key, text := range sent {
		if r.outbox[key] == text {
			delete(r.outbox, key)
		}
	}
	active, named, leaving := r.active, r.named, r.leaving
	r.mu.Unlock()
	if leaving {
		return
	}
	if named != before && named != "" {
		r.log.Info("lease: a replica is active", "holder", named, "this", active)
	}
	if active != was {
		f.SetActive(active)
	}
}

// held returns the Lease as this replica takes or renews it. lease is nil if there is none.
func (r *Replica) held(lease *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	out := lease.DeepCopy()
	if out == nil {
		out = &coordinationv1.Lease{}
		out.Name, out.Labels = r.options.Name, map[string]string{"app.kubernetes.io/managed-by": "agentry"}
	}
	spec, at := &out.Spec, metav1.NewMicroTime(now)
	if recordOf(out).holder != r.holder {
		transitions := int32(1)
		if spec.LeaseTransitions != nil {
			transitions += *spec.LeaseTransitions
		}
		spec.AcquireTime, spec.LeaseTransitions = &at, &transitions
	}
	seconds := int32(leaseTime / time.Second)
	spec.HolderIdentity, spec.LeaseDurationSeconds, spec.RenewTime = &r.holder, &seconds, &at
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
