package replica

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const (
	// leaseTime is for how long a member that does not renew its Lease counts as alive.
	leaseTime = 15 * time.Second
	// maxLeaseTime bounds what another version's Lease may ask for.
	maxLeaseTime = time.Minute
	// settleTime is how old a term must have been when it was last renewed until slices are
	// released to it: the second renewal makes it so.
	settleTime = 8 * time.Second
)

// situation is all that a decision depends on.
type situation struct {
	view *view
	self string // the name of our member Lease
	term string // ours, which stands
	// given are the versions of slices' Leases that we tried to release.
	given [sliceCount]string
	now   time.Time
}

// plan is what to do about a situation.
type plan struct {
	expel   []*coordinationv1.Lease // members whose term is to end
	take    []int                   // slices that should be ours, and are free or not surely ours
	release []int                   // slices that we hold and that should be another's
}

// decide says what to do now. Slices of an expelled member are for the next decision.
func decide(s situation) plan {
	var p plan
	alive, settled := s.members(&p)
	for n, lease := range s.view.slices {
		held := holder(lease)
		switch {
		case held == s.term:
			if owner(n, settled) != s.self {
				p.release = append(p.release, n)
			} else if s.given[n] == lease.ResourceVersion {
				p.take = append(p.take, n)
			}
		case held == "" || s.view.ended(held):
			if owner(n, alive) == s.self {
				p.take = append(p.take, n)
			}
		}
	}
	return p
}

// members are the names of those alive, and of those among them that slices are released to;
// those that are no longer alive go into the plan.
func (s situation) members(p *plan) (alive, settled []string) {
	for name, m := range s.view.members {
		if name != s.self && s.now.Sub(m.alive) >= duration(m.lease) {
			p.expel = append(p.expel, m.lease)
			continue
		}
		alive = append(alive, name)
		if name == s.self || m.changed.Sub(m.since) >= settleTime {
			settled = append(settled, name)
		}
	}
	slices.SortFunc(p.expel, func(a, b *coordinationv1.Lease) int { return strings.Compare(a.Name, b.Name) })
	return alive, settled
}

// duration is for how long a Lease lasts without a change.
func duration(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return leaseTime
	}
	return min(max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, leaseTime), maxLeaseTime)
}
