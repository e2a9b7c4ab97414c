package replica

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const (
	// leaseTime is how long a member counts as alive that does not renew its Lease.
	leaseTime = 15 * time.Second
	// maxLeaseTime bounds the duration in a Lease that another version of agentry wrote.
	maxLeaseTime = time.Minute
	// settleTime is the age that a term must have at its last renewal before shards are released to
	// it. It has that age at its second renewal.
	settleTime = 8 * time.Second
)

// situation is everything that a decision depends on.
type situation struct {
	view *view
	self string // the name of our member Lease
	term string // ours, which can be trusted
	// given are the versions of shards' Leases that we tried to release.
	given [shardCount]string
	now   time.Time
}

// plan is what to do about a situation.
type plan struct {
	expel   []*coordinationv1.Lease // members whose term we end
	take    []int                   // shards that should be ours, and are free or perhaps released
	release []int                   // shards that we hold and another member should have
}

// decide says what to do now. The shards of a member that is expelled are left to the next decision.
func decide(s situation) plan {
	var p plan
	alive, settled := s.members(&p)
	for n, lease := range s.view.shards {
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

// members returns the names of the members that are alive, and of those among them to which shards may
// be released. It enters the others into the plan, to be expelled.
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

// duration is how long a Lease lasts without a change.
func duration(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return leaseTime
	}
	return min(max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, leaseTime), maxLeaseTime)
}
