package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// attend keeps this replica registered.
func (r *Replica) attend(ctx context.Context) {
	for wait := time.Duration(0); pause(ctx, wait, r.listed); {
		err := r.beat(ctx)
		if wait = beatTime; err != nil {
			wait = retryTime
		}
		if !errors.Is(err, errDeaf) { // The watch tells of that.
			r.report("member", err)
		}
	}
}

var (
	errDeaf  = errors.New("the leases are not known")
	errTaken = errors.New("another replica has this identity")
)

// beat renews our term, or begins a new one.
func (r *Replica) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r.mu.Lock()
	deaf := r.heard.IsZero() || r.now().Sub(r.heard) >= deafTime
	lapsed := r.term != "" && !r.stands()
	if lapsed {
		r.term = ""
	}
	term, known := r.term, r.view.members[r.self]
	r.mu.Unlock()
	if lapsed {
		r.log.Warn("leases: no contact for too long; what others see is left to whoever holds the pipelines next", "after", trustTime)
	}
	switch {
	case deaf:
		return errDeaf
	case term == "":
		return r.register(ctx)
	case known == nil || holder(known.lease) != term:
		return r.lose()
	}
	return r.renew(ctx, term, known.lease)
}

// renew writes the member Lease anew. Of a conflict the watch knows more than we do, unless we
// ask: somebody may have put a label on it.
func (r *Replica) renew(ctx context.Context, term string, lease *coordinationv1.Lease) error {
	began := r.now()
	after, err := r.leases.Update(ctx, r.membership(lease, term, began))
	if apierrors.IsConflict(err) {
		if lease, err = r.leases.Get(ctx, r.self); err == nil && holder(lease) == term {
			after, err = r.leases.Update(ctx, r.membership(lease, term, began))
		} else if err == nil {
			return r.lose()
		}
	}
	if apierrors.IsNotFound(err) {
		return r.lose()
	}
	if err != nil {
		return fmt.Errorf("renew the member lease: %w", err)
	}
	r.wrote(after)
	r.mu.Lock()
	r.renewed = began
	r.mu.Unlock()
	return nil
}

// lose ends our term, as another replica did or somebody by hand.
func (r *Replica) lose() error {
	r.mu.Lock()
	r.term = ""
	r.mu.Unlock()
	return errors.New("the member lease was removed or taken")
}

// register begins a term. A Lease that was left by a process that ended with the same identity
// must expire first: perhaps it did not end.
func (r *Replica) register(ctx context.Context) error {
	began := r.now()
	lease, err := r.leases.Get(ctx, r.self)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the member lease: %w", err)
	}
	found := err == nil
	if found && r.others(lease) {
		return errTaken
	}
	r.mu.Lock()
	r.terms++
	term := fmt.Sprintf("%s_%s.%d", r.options.Identity, r.process, r.terms)
	r.mu.Unlock()
	write := r.leases.Update
	if !found {
		write, lease = r.leases.Create, r.empty(r.self)
	}
	lease, err = write(ctx, r.membership(lease, term, began))
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	r.wrote(lease)
	r.mu.Lock()
	r.term, r.renewed = term, began
	r.view.forgive(r.now())
	r.mu.Unlock()
	r.log.Info("leases: registered", "term", term)
	poke(r.wake)
	return nil
}

// others tells whether a member Lease is another process's that may be alive.
func (r *Replica) others(lease *coordinationv1.Lease) bool {
	if strings.HasPrefix(holder(lease), r.options.Identity+"_"+r.process+".") {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.view.members[r.self]
	unchanged := known != nil && known.lease.ResourceVersion == lease.ResourceVersion
	return !unchanged || r.now().Sub(known.alive) < duration(lease)
}

// membership is our member Lease.
func (r *Replica) membership(lease *coordinationv1.Lease, term string, now time.Time) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	seconds, at := int32(leaseTime/time.Second), metav1.NewMicroTime(now)
	if holder(lease) != term {
		lease.Spec.AcquireTime = &at
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &term, &seconds, &at
	return lease
}

// empty is a Lease of the fleet that nobody holds.
func (r *Replica) empty(name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{labelReplicas: r.options.Name, labelManaged: "agentry"},
	}}
}

// leave ends our term.
func (r *Replica) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	r.flush(ctx)
	r.mu.Lock()
	term := r.term
	r.term = ""
	r.mu.Unlock()
	if term == "" {
		return
	}
	lease, err := r.leases.Get(ctx, r.self)
	if err == nil && holder(lease) == term {
		err = r.leases.Delete(ctx, lease)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		r.log.Warn("leases: the member lease is left behind and expires", "err", err)
	}
}
