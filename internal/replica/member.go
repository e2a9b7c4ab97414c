package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// membership registers this replica with its member Lease, and renews that.
type membership struct {
	leases   Leases
	state    *state
	problems *problems
	log      *slog.Logger
	fleet    string
	identity string
	name     string // of the member Lease
	process  string // tells this process's terms from all others'
	terms    int    // how many this process has begun
}

// run keeps this replica registered until ctx ends.
func (m *membership) run(ctx context.Context) {
	for wait := time.Duration(0); pause(ctx, wait, m.state.listed); {
		err := m.beat(ctx)
		if wait = beatTime; err != nil {
			wait = retryTime
		}
		if !errors.Is(err, errStale) { // The watcher reports that.
			m.problems.report("member", err)
		}
	}
}

var (
	errStale = errors.New("the leases are not known")
	errTaken = errors.New("another replica has this identity")
)

// beat renews our term, or begins a new term.
func (m *membership) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	m.state.mu.Lock()
	stale := m.state.heard.IsZero() || m.state.now().Sub(m.state.heard) >= staleTime
	lapsed := m.state.term != "" && !m.state.stands()
	if lapsed {
		m.state.term = ""
	}
	term, known := m.state.term, m.state.view.members[m.name]
	m.state.mu.Unlock()
	if lapsed {
		m.log.Warn("leases: no contact for too long; other replicas may take the pipelines over, so this one posts nothing", "after", trustTime)
	}
	switch {
	case stale:
		return errStale
	case term == "":
		return m.register(ctx)
	case known == nil || holder(known.lease) != term:
		return m.lose()
	}
	return m.renew(ctx, term, known.lease)
}

// renew writes the member Lease again. After a conflict it reads the Lease: if somebody has only put a
// label on it, our term goes on.
func (m *membership) renew(ctx context.Context, term string, lease *coordinationv1.Lease) error {
	began := m.state.now()
	after, err := m.leases.Update(ctx, m.lease(lease, term, began))
	if apierrors.IsConflict(err) {
		if lease, err = m.leases.Get(ctx, m.name); err == nil && holder(lease) == term {
			after, err = m.leases.Update(ctx, m.lease(lease, term, began))
		} else if err == nil {
			return m.lose()
		}
	}
	if apierrors.IsNotFound(err) {
		return m.lose()
	}
	if err != nil {
		return fmt.Errorf("renew the member lease: %w", err)
	}
	m.state.wrote(after)
	m.state.mu.Lock()
	m.state.renewed = began
	m.state.mu.Unlock()
	return nil
}

// lose ends our term here, after another replica or a person has ended it.
func (m *membership) lose() error {
	m.state.end()
	return errors.New("the member lease was removed or taken")
}

// register begins a term. If another process with our identity has left a Lease, that must expire first:
// the process may be alive.
func (m *membership) register(ctx context.Context) error {
	began := m.state.now()
	lease, err := m.leases.Get(ctx, m.name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the member lease: %w", err)
	}
	found := err == nil
	if found && m.others(lease) {
		return errTaken
	}
	m.terms++
	term := fmt.Sprintf("%s_%s.%d", m.identity, m.process, m.terms)
	write := m.leases.Update
	if !found {
		write, lease = m.leases.Create, emptyLease(m.fleet, m.name)
	}
	lease, err = write(ctx, m.lease(lease, term, began))
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	m.state.wrote(lease)
	m.state.begin(term, began)
	m.log.Info("leases: registered", "term", term)
	return nil
}

// others reports whether a member Lease is of another process that may be alive.
func (m *membership) others(lease *coordinationv1.Lease) bool {
	if strings.HasPrefix(holder(lease), m.identity+"_"+m.process+".") {
		return false
	}
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	known := m.state.view.members[m.name]
	unchanged := known != nil && known.lease.ResourceVersion == lease.ResourceVersion
	return !unchanged || m.state.now().Sub(known.alive) < duration(lease)
}

// lease is our member Lease, renewed at a moment.
func (m *membership) lease(lease *coordinationv1.Lease, term string, now time.Time) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	seconds, at := int32(leaseTime/time.Second), metav1.NewMicroTime(now)
	if holder(lease) != term {
		lease.Spec.AcquireTime = &at
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &term, &seconds, &at
	return lease
}

// emptyLease is a Lease of a fleet that nobody holds.
func emptyLease(fleet, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{labelReplicas: fleet, labelManaged: "agentry"},
	}}
}

// leave ends our term.
func (m *membership) leave(ctx context.Context) {
	term := m.state.end()
	if term == "" {
		return
	}
	lease, err := m.leases.Get(ctx, m.name)
	if err == nil && holder(lease) == term {
		err = m.leases.Delete(ctx, lease)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		m.log.Warn("leases: the member lease could not be deleted; it expires by itself", "err", err)
	}
}
