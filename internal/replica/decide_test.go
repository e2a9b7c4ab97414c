package replica

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func leaseOf(name, term, version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &term}}
}

// TestDecide has one shard that matters, of those that should be ours or that of b, another member.
func TestDecide(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const a, b = "fleet-member-a", "fleet-member-b"
	var ours, theirs int // Shards that should be a's and b's.
	for n := range shardCount {
		if owner(n, []string{a, b}) == a {
			ours = n
		} else {
			theirs = n
		}
	}
	for name, test := range map[string]struct {
		shard          int
		holder, given  string
		renewed, alive time.Duration // of b: for how long when it was last renewed, and since when
		take, release  []int
		expel          int
	}{
		"a shard of nobody that should be ours":              {shard: ours, take: []int{ours}},
		"one of a term that has ended":                       {shard: ours, holder: "c_1", take: []int{ours}},
		"one of nobody that should be another's":             {shard: theirs},
		"one of a member":                                    {shard: ours, holder: "b_1"},
		"one of ours":                                        {shard: ours, holder: "a_1"},
		"one of ours that should be another's":               {shard: theirs, holder: "a_1", renewed: settleTime, release: []int{theirs}},
		"that one, but the other is new":                     {shard: theirs, holder: "a_1", renewed: settleTime - 1},
		"one that we tried to release and should be ours":    {shard: ours, holder: "a_1", given: "7", take: []int{ours}},
		"one that we tried to release in another version":    {shard: ours, holder: "a_1", given: "6"},
		"one of a member whose time is just not over":        {shard: ours, holder: "b_1", alive: leaseTime - 1},
		"one of a member that is to be expelled first":       {shard: ours, holder: "b_1", alive: leaseTime, expel: 1},
		"one of nobody that should have been the dead's":     {shard: theirs, alive: leaseTime, expel: 1, take: []int{theirs}},
		"one of ours that would go to who is to be expelled": {shard: theirs, holder: "a_1", renewed: settleTime, alive: leaseTime, expel: 1},
	} {
		v := newView("fleet")
		for n := range v.shards {
			v.shards[n] = leaseOf(shardName("fleet", n), "b_1", "7") // No matter here.
		}
		v.shards[test.shard] = leaseOf(shardName("fleet", test.shard), test.holder, "7")
		v.members[a] = &member{lease: leaseOf(a, "a_1", "1")}
		changed := now.Add(-test.alive)
		v.members[b] = &member{lease: leaseOf(b, "b_1", "1"), since: changed.Add(-test.renewed), changed: changed, alive: changed}
		s := situation{view: &v, self: a, term: "a_1", now: now}
		s.given[test.shard] = test.given
		p := decide(s)
		if diff := gocmp.Diff([][]int{test.take, test.release}, [][]int{p.take, p.release}); diff != "" || len(p.expel) != test.expel {
			t.Errorf("%s: %d are expelled\n%s", name, len(p.expel), diff)
		}
	}
}

// TestAShardThatMayBeReleasedIsNotHeld: others may have taken it before we hear of that.
func TestAShardThatMayBeReleasedIsNotHeld(t *testing.T) {
	r, err := New(Options{Name: "fleet", Identity: "a"})
	if err != nil {
		t.Fatal(err)
	}
	key := keys()[3]
	r.state.term, r.state.renewed = "a_1", time.Now()
	r.state.view.shards[3] = leaseOf("fleet-shard-3", "a_1", "7")
	if !r.MayPublish(key) {
		t.Error("it is not held before")
	}
	if r.state.given[3] = "7"; r.MayPublish(key) {
		t.Error("it is held after")
	}
}

// TestAShardThatAnotherTookMeanwhile: between the decision to take it and its turn, the watch told of
// its new holder.
func TestAShardThatAnotherTookMeanwhile(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		r, err := New(Options{Leases: &client{world: w}, Name: "fleet", Identity: "a"})
		if err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		decided := w.write(watch.Added, leaseOf("fleet-shard-3", "gone_1", ""))
		member := w.write(watch.Added, leaseOf("fleet-member-b", "b_1", ""))
		now := w.write(watch.Modified, leaseOf("fleet-shard-3", "b_1", ""))
		w.mu.Unlock()
		r.state.take(watch.Added, member)
		r.state.take(watch.Modified, now)
		r.ownership.acquire(t.Context(), "a_1", 3, decided)
		if got := holder(w.leases["fleet-shard-3"]); got != "b_1" {
			t.Errorf("%s took it from who holds it", got)
		}
	})
}

// TestATriggerThatCameMeanwhileStays: what was read is removed, not what stands there by then.
func TestATriggerThatCameMeanwhileStays(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		r, err := New(Options{Leases: &client{world: w}, Name: "fleet", Identity: "a"})
		if err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		lease := leaseOf("fleet-shard-3", "a_1", "")
		lease.Annotations = map[string]string{triggerPrefix + "1": "first"}
		read := w.write(watch.Added, lease)
		lease.Annotations[triggerPrefix+"1"] = "second"
		now := w.write(watch.Modified, lease)
		w.mu.Unlock()
		r.forwarder.remove(t.Context(), read)
		if w.annotations() != 1 {
			t.Error("the second is removed with the first")
		}
		r.forwarder.remove(t.Context(), now)
		if w.annotations() != 0 {
			t.Error("the second is not removed")
		}
	})
}
