package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// pair is an active replica and a passive one.
func pair(w *world) (active, passive *process) {
	w.t.Helper()
	active = w.start("a", 0)
	w.until("a is active", takeover, w.one(active))
	passive = w.start("b", 0)
	w.run(5 * time.Second)
	return active, passive
}

func forward(t *testing.T, r *process, trigger fleet.Trigger) {
	t.Helper()
	if err := r.Forward(trigger); err != nil {
		t.Error(err)
	}
}

func TestATriggerReachesTheActiveReplica(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b := pair(w)
		want := []fleet.Trigger{{Pipeline: "shop", Reason: "api", Token: "2026-01-01T00:00:00Z"}}
		forward(t, b, want[0])
		forward(t, a, fleet.Trigger{Pipeline: "other"}) // A server gives it to its fleet itself.
		w.run(4 * time.Second)
		if diff := gocmp.Diff(want, a.fleet.got()); diff != "" || len(b.fleet.got()) > 0 || w.annotations() > 0 {
			t.Errorf("b got %v, %d stay, a:\n%s", b.fleet.got(), w.annotations(), diff)
		}
		for _, more := range []fleet.Trigger{
			want[0], // The same once more is another.
			{Repository: "git.example.com/platform/monitoring", Reason: "webhook"},
			{Repository: "git.example.com/platform/monitoring", Reason: "pull-request"},
			{Reason: "signal"},
		} {
			forward(t, b, more)
			want = append(want, more)
			w.run(4 * time.Second)
		}
		if diff := gocmp.Diff(want, a.fleet.got()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestATriggerForAReplicaThatIsDead reaches the next active replica, whichever replica got it.
func TestATriggerForAReplicaThatIsDead(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b := pair(w)
		c := w.start("c", 0)
		w.run(5 * time.Second)
		w.kill(a)
		forward(t, b, fleet.Trigger{Pipeline: "shop", Token: "b"})
		forward(t, c, fleet.Trigger{Pipeline: "mail", Token: "c"})
		w.run(4 * time.Second)
		if w.annotations() != 2 {
			t.Fatalf("%d wait", w.annotations())
		}
		next := w.activeOne()
		w.run(4 * time.Second)
		if got := next.fleet.got(); len(got) != 2 || w.annotations() != 0 {
			t.Errorf("%v, %d stay", got, w.annotations())
		}
	})
}

// TestATriggerWhileTheAPIServerIsAway waits in the replica that got it: in a passive one, in the active one, and in one
// that becomes active without knowing.
func TestATriggerWhileTheAPIServerIsAway(t *testing.T) {
	for name, test := range map[string]struct{ before, during int }{
		"none was active yet": {broken, broken}, "this one was active": {none, broken}, "answers to writes are lost": {lossy, lossy},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, w *world) {
				a := w.start("a", 0)
				w.disturb(a, test.before)
				w.run(5 * time.Second)
				w.disturb(a, test.during)
				w.run(trustTime)
				for i := range maxTriggers + 1 {
					forward(t, a, fleet.Trigger{Repository: fmt.Sprint(i)})
				}
				w.run(time.Minute)
				w.disturb(a, none)
				w.until("a acts on all", takeover, func() bool { return len(gotBy(w)) == maxTriggers+1 && a.Status().Waiting == 0 })
			})
		})
	}
}

// TestATriggerForAnActiveReplicaThatIsCutOff reaches the replica that takes over.
func TestATriggerForAnActiveReplicaThatIsCutOff(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b := pair(w)
		w.disturb(a, broken)
		w.until("b publishes", takeover, b.MayPublish)
		forward(t, a, fleet.Trigger{Pipeline: "shop", Token: "1"})
		w.run(5 * time.Second)
		w.disturb(a, none)
		w.until("b acts on it", takeover, func() bool { return slices.Contains(b.fleet.got(), fleet.Trigger{Pipeline: "shop", Token: "1"}) })
	})
}

// TestABurstIsFewWrites: the last trigger of a burst counts.
func TestABurstIsFewWrites(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b := pair(w)
		before := w.writes
		for i := range 50 {
			forward(t, b, fleet.Trigger{Pipeline: "shop", Token: fmt.Sprint(i)})
			w.run(100 * time.Millisecond)
		}
		w.run(4 * time.Second)
		if got := a.fleet.got(); len(got) == 0 || len(got) > 8 || got[len(got)-1].Token != "49" {
			t.Errorf("a got %v", got)
		}
		if got := w.writes - before; got > 24 {
			t.Errorf("%d writes", got)
		}
	})
}

// TestTriggersWait for the API server, and for room on the Lease; none is lost, and there are never
// more than a Lease may have.
func TestTriggersWait(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b := pair(w)
		w.disturb(b, broken)
		const all = 250
		for i := range all {
			forward(t, b, fleet.Trigger{Repository: fmt.Sprint(i)})
		}
		w.run(5 * time.Second)
		if w.annotations() > 0 || b.Status().Waiting != all {
			t.Errorf("%d stand, %d wait", w.annotations(), b.Status().Waiting)
		}
		w.disturb(a, frozen)
		w.disturb(b, none)
		w.until("some stand", 5*time.Second, func() bool { return w.annotations() > 0 })
		w.run(3 * time.Second)
		if w.annotations() != maxTriggers || b.Status().Waiting != all-maxTriggers {
			t.Errorf("%d stand, %d wait", w.annotations(), b.Status().Waiting)
		}
		w.disturb(a, none)
		w.until("all arrive", takeover, func() bool {
			if w.annotations() > maxTriggers {
				t.Fatalf("%d stand", w.annotations())
			}
			return len(gotBy(w)) == all && b.Status().Waiting == 0 && w.annotations() == 0
		})
	})
}

// gotBy returns the repositories of all triggers that reached an active replica.
func gotBy(w *world) map[string]bool {
	got := map[string]bool{}
	w.mu.Lock()
	ever := slices.Clone(w.ever)
	w.mu.Unlock()
	for _, p := range ever {
		for _, g := range p.fleet.got() {
			got[g.Repository] = true
		}
	}
	return got
}

// TestTriggersFromAllSides: no trigger is lost in conflicting writes, or when the active replica, or one whose triggers
// wait, ends.
func TestTriggersFromAllSides(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		for i := range 5 {
			w.start(fmt.Sprintf("r%d", i), 0)
		}
		w.until("one is active", takeover, w.any)
		sent := map[string]bool{}
		for round := range 40 {
			for i, p := range w.all() {
				if p.MayPublish() {
					continue // A server gives it to its fleet itself.
				}
				id := fmt.Sprintf("%d/%d", round, i)
				sent[id] = true
				forward(t, p, fleet.Trigger{Repository: id})
			}
			if round == 15 || round == 25 {
				all := w.all()
				w.end(all[slices.IndexFunc(all, func(p *process) bool { return p.Status().Active == (round == 15) })])
				w.until("one is active", takeover, w.any)
			}
			w.run(300 * time.Millisecond)
		}
		w.run(10 * time.Second)
		for id := range gotBy(w) {
			delete(sent, id)
		}
		if len(sent) > 0 || w.annotations() > 0 {
			t.Errorf("lost: %v, %d stay", sent, w.annotations())
		}
	})
}

func TestTriggersAreBounded(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b := pair(w)
		if err := b.Forward(fleet.Trigger{Pipeline: "shop", Token: strings.Repeat("x", maxTriggerBytes)}); err == nil {
			t.Error("one that is too long is taken")
		}
		w.disturb(b, broken)
		for i := range maxOutbox {
			forward(t, b, fleet.Trigger{Repository: fmt.Sprint(i)})
		}
		forward(t, b, fleet.Trigger{Repository: "7", Token: "again"})
		if err := b.Forward(fleet.Trigger{Repository: "one more"}); err == nil {
			t.Error("one more is taken")
		}
		w.mu.Lock()
		lease := w.lease.DeepCopy()
		lease.Annotations = map[string]string{
			triggerPrefix + "1": "{", triggerPrefix + "2": strings.Repeat("x", maxTriggerBytes+1), "other.example.com/x": "stays",
		}
		w.write(lease)
		w.mu.Unlock()
		w.run(4 * time.Second)
		if w.annotations() != 1 || len(a.fleet.got()) > 0 {
			t.Errorf("%d stay, a got %v", w.annotations(), a.fleet.got())
		}
	})
}
