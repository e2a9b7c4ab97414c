package replica

import (
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// view is what a replica knows of the Leases. It may be older than the Leases are, which does no harm:
// see the package's doc comment.
type view struct {
	fleet   string
	shards  [shardCount]*coordinationv1.Lease // nil: there is none
	members map[string]*member                // by the names of their Leases
}

// member is a replica that is registered.
type member struct {
	lease *coordinationv1.Lease
	// since is when we first saw its term, changed when we last saw its Lease change.
	since, changed time.Time
	// alive is the beginning of the time after which it counts as dead.
	alive time.Time
}

func newView(fleet string) view { return view{fleet: fleet, members: map[string]*member{}} }

// put takes in a Lease from a list, a watch or a write of ours. A version older than the known one, from
// a watch that is late, is ignored.
func (v *view) put(lease *coordinationv1.Lease, now time.Time) {
	if n, ok := v.shard(lease.Name); ok {
		if !older(lease, v.shards[n]) {
			v.shards[n] = lease
		}
		return
	}
	if !strings.HasPrefix(lease.Name, v.fleet+memberInfix) {
		return
	}
	if known := v.members[lease.Name]; known == nil || !older(lease, known.lease) {
		v.members[lease.Name] = known.follow(lease, now)
	}
}

// follow returns the member with a newer Lease. m is nil if the member was not known.
func (m *member) follow(lease *coordinationv1.Lease, now time.Time) *member {
	out := &member{lease: lease, since: now, changed: now, alive: now}
	if m != nil && holder(m.lease) == holder(lease) {
		out.since = m.since
	}
	if m != nil && m.lease.ResourceVersion == lease.ResourceVersion {
		out.changed, out.alive = m.changed, m.alive
	}
	return out
}

// drop removes a Lease that was deleted.
func (v *view) drop(lease *coordinationv1.Lease) {
	if n, ok := v.shard(lease.Name); ok {
		if !older(lease, v.shards[n]) {
			v.shards[n] = nil
		}
		return
	}
	if m := v.members[lease.Name]; m != nil && !older(lease, m.lease) {
		delete(v.members, lease.Name)
	}
}

// replace takes in a list of all Leases. A Lease that is not in it was deleted. Versions that are newer
// than the list's are forgotten: an API server may be restored to an earlier state.
func (v *view) replace(all []coordinationv1.Lease, now time.Time) {
	fresh := newView(v.fleet)
	for i := range all {
		fresh.put(&all[i], now)
	}
	for name, m := range fresh.members {
		fresh.members[name] = v.members[name].follow(m.lease, now)
	}
	*v = fresh
}

// restartClocks gives all members their full time again: a replica that was away itself has seen
// nobody's renewals.
func (v *view) restartClocks(now time.Time) {
	for _, m := range v.members {
		m.alive = now
	}
}

// ended reports whether a term is over. No term is used twice, and the term that holds a shard was seen
// before the shard was.
func (v *view) ended(term string) bool {
	for _, m := range v.members {
		if holder(m.lease) == term {
			return false
		}
	}
	return true
}

func (v *view) shard(name string) (int, bool) {
	number, ok := strings.CutPrefix(name, v.fleet+shardInfix)
	n, err := strconv.Atoi(number)
	return n, ok && err == nil && n >= 0 && n < shardCount && strconv.Itoa(n) == number
}

// holder is the term that holds a Lease; empty if nobody does.
func holder(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// older reports whether a version is older than another: the API server counts them up. Versions that
// are no numbers are not older.
func older(lease, than *coordinationv1.Lease) bool {
	if than == nil {
		return false
	}
	a, err1 := strconv.ParseUint(lease.ResourceVersion, 10, 64)
	b, err2 := strconv.ParseUint(than.ResourceVersion, 10, 64)
	return err1 == nil && err2 == nil && a < b
}
