package replica

import (
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// view is what a replica knows of the Leases. It is as old as the watch is late, and that harms
// nothing: see the package's doc comment.
type view struct {
	fleet   string
	slices  [sliceCount]*coordinationv1.Lease // nil: there is none
	members map[string]*member                // by the names of their Leases
}

// member is a replica that is registered.
type member struct {
	lease *coordinationv1.Lease
	// since is when its term was first seen, changed when its Lease was last seen to change.
	since, changed time.Time
	// alive is from when the time counts after which it is no longer.
	alive time.Time
}

func newView(fleet string) view { return view{fleet: fleet, members: map[string]*member{}} }

// put takes in a Lease, as a list, a watch or a write of ours has it. An older version than the
// known one, which a late watch tells of, is ignored.
func (v *view) put(lease *coordinationv1.Lease, now time.Time) {
	if n, ok := v.slice(lease.Name); ok {
		if !older(lease, v.slices[n]) {
			v.slices[n] = lease
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

// follow is what becomes of a member, if it was known, with its Lease.
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

// drop takes out a Lease that is gone.
func (v *view) drop(lease *coordinationv1.Lease) {
	if n, ok := v.slice(lease.Name); ok {
		if !older(lease, v.slices[n]) {
			v.slices[n] = nil
		}
		return
	}
	if m := v.members[lease.Name]; m != nil && !older(lease, m.lease) {
		delete(v.members, lease.Name)
	}
}

// replace takes in a list of all: what is not in it is gone, and what was newer never was, for an
// API server may be put back to an earlier state.
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

// forgive lets all members begin anew with what is left of their time: who was away himself
// has seen nobody's renewals.
func (v *view) forgive(now time.Time) {
	for _, m := range v.members {
		m.alive = now
	}
}

// ended tells whether a term is over. Terms never come back, and one that holds a slice was
// seen before the slice was.
func (v *view) ended(term string) bool {
	for _, m := range v.members {
		if holder(m.lease) == term {
			return false
		}
	}
	return true
}

func (v *view) slice(name string) (int, bool) {
	number, ok := strings.CutPrefix(name, v.fleet+sliceInfix)
	n, err := strconv.Atoi(number)
	return n, ok && err == nil && n >= 0 && n < sliceCount && strconv.Itoa(n) == number
}

// holder is the term that holds a Lease; empty if nobody does.
func holder(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// older compares versions, which the API server counts up. What cannot be compared is not older.
func older(lease, than *coordinationv1.Lease) bool {
	if than == nil {
		return false
	}
	a, err1 := strconv.ParseUint(lease.ResourceVersion, 10, 64)
	b, err2 := strconv.ParseUint(than.ResourceVersion, 10, 64)
	return err1 == nil && err2 == nil && a < b
}
