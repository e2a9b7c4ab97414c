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

// pair is two replicas that share everything, and a key of each.
func pair(w *world) (a, b *process, ofA, ofB string) {
	w.t.Helper()
	a, b = w.start("a", 0), w.start("b", 0)
	w.until("two share everything", takeover, w.settled)
	holders := w.holders()
	return a, b, keys()[slices.Index(holders[:], "a")], keys()[slices.Index(holders[:], "b")]
}

// annotations counts the triggers that stand on Leases.
func (w *world) annotations() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := 0
	for _, lease := range w.leases {
		sum += len(lease.Annotations)
	}
	return sum
}

func handOn(t *testing.T, r *process, trigger fleet.Trigger) {
	t.Helper()
	if err := r.Forward(trigger); err != nil {
		t.Error(err)
	}
}

func TestATriggerReachesWhoRunsThePipeline(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b, ofA, ofB := pair(w)
		want := fleet.Trigger{Pipeline: ofB, Reason: "api", Token: "2026-01-01T00:00:00Z"}
		handOn(t, a, want)
		handOn(t, a, fleet.Trigger{Pipeline: ofA}) // Its own.
		w.run(2 * time.Second)
		if diff := gocmp.Diff([]fleet.Trigger{want}, b.fleet.got()); diff != "" || len(a.fleet.got()) > 0 || w.annotations() > 0 {
			t.Errorf("a got %v, %d stay, b:\n%s", a.fleet.got(), w.annotations(), diff)
		}
		handOn(t, a, want) // The same once more is another.
		w.run(2 * time.Second)
		if got := b.fleet.got(); len(got) != 2 {
			t.Errorf("b got %v", got)
		}
		handOn(t, a, fleet.Trigger{Pipeline: "after-" + ofB}) // What a rollout ties to it.
		w.run(2 * time.Second)
		if got := b.fleet.got(); len(got) != 3 {
			t.Errorf("b got %v", got)
		}
	})
}

func TestATriggerForARepositoryReachesAllOthers(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b, _, _ := pair(w)
		c := w.start("c", 0)
		w.until("three share everything", takeover, w.settled)
		want := fleet.Trigger{Repository: "git.example.com/platform/monitoring", Reason: "webhook"}
		handOn(t, a, want)
		handOn(t, a, fleet.Trigger{Reason: "signal"}) // For everything.
		w.run(3 * time.Second)
		for _, p := range []*process{b, c} {
			got := p.fleet.got()
			if !slices.Contains(got, want) || !slices.Contains(got, fleet.Trigger{Reason: "signal"}) {
				t.Errorf("%s got %v", p.options.Identity, got)
			}
		}
		if len(a.fleet.got()) > 0 || w.annotations() > 0 {
			t.Errorf("a got %v, %d stay", a.fleet.got(), w.annotations())
		}
	})
}

// TestATriggerForWhoIsDead reaches the one that follows.
func TestATriggerForWhoIsDead(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b, _, ofB := pair(w)
		c := w.start("c", 0)
		w.until("three share everything", takeover, w.settled)
		for _, key := range keys() {
			if b.Owns(key) && owner(shardOf(key), []string{a.membership.name, c.membership.name}) == c.membership.name {
				ofB = key
			}
		}
		w.kill(b)
		handOn(t, a, fleet.Trigger{Pipeline: ofB, Token: "1"})
		w.run(2 * time.Second)
		if w.annotations() != 1 || len(c.fleet.got()) > 0 {
			t.Fatalf("%d wait, c got %v", w.annotations(), c.fleet.got())
		}
		w.until("c acts on it", takeover, func() bool { return slices.Contains(c.fleet.got(), fleet.Trigger{Pipeline: ofB, Token: "1"}) })
	})
}

// TestATriggerForAShardThatNobodyEverHeld makes its Lease.
func TestATriggerForAShardThatNobodyEverHeld(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		w.with(a, func(c *client) { c.forbids = "list" })
		handOn(t, a, fleet.Trigger{Pipeline: "shop", Token: "1"})
		w.run(3 * time.Second)
		if w.annotations() != 1 {
			t.Errorf("%d wait", w.annotations())
		}
		w.with(a, func(c *client) { c.forbids = "" })
		w.until("a acts on it", takeover, func() bool { return slices.Contains(a.fleet.got(), fleet.Trigger{Pipeline: "shop", Token: "1"}) })
	})
}

// TestABurstIsFewWrites: the last of a burst counts.
func TestABurstIsFewWrites(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b, _, ofB := pair(w)
		before := w.writes
		for i := range 50 {
			handOn(t, a, fleet.Trigger{Pipeline: ofB, Token: fmt.Sprint(i)})
			w.run(100 * time.Millisecond)
		}
		w.run(3 * time.Second)
		if got := b.fleet.got(); len(got) == 0 || len(got) > 8 || got[len(got)-1].Token != "49" {
			t.Errorf("b got %v", got)
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
		a, b, _, ofB := pair(w)
		w.with(a, func(c *client) { c.broken = true })
		w.with(b, func(c *client) { c.deaf = true; c.forbids = "list" })
		const all = 250
		for i := range all {
			handOn(t, a, fleet.Trigger{Pipeline: ofB, Repository: fmt.Sprint(i)})
		}
		w.run(5 * time.Second)
		if w.annotations() > 0 || a.Status().Waiting != all {
			t.Errorf("%d stand, %d wait", w.annotations(), a.Status().Waiting)
		}
		w.with(a, func(c *client) { c.broken = false })
		w.until("some stand", 5*time.Second, func() bool { return w.annotations() > 0 })
		w.run(5 * time.Second)
		if w.annotations() != maxTriggers || a.Status().Waiting != all-maxTriggers {
			t.Errorf("%d stand, %d wait", w.annotations(), a.Status().Waiting)
		}
		w.with(b, func(c *client) { c.deaf, c.forbids = false, "" })
		w.until("all arrive", takeover, func() bool {
			if w.annotations() > maxTriggers {
				t.Fatalf("%d stand", w.annotations())
			}
			got := map[string]bool{}
			for _, p := range w.all() {
				for _, g := range p.fleet.got() {
					got[g.Repository] = true
				}
			}
			return len(got) == all && a.Status().Waiting == 0 && w.annotations() == 0
		})
	})
}

// TestTriggersFromAllSides: writes that get in each other's way lose nothing.
func TestTriggersFromAllSides(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		var senders []*process
		for i := range 4 {
			senders = append(senders, w.start(fmt.Sprintf("r%d", i), 0))
		}
		w.until("four share everything", takeover, w.settled)
		sent := map[string]bool{}
		for round := range 30 {
			for i, p := range senders {
				if p.Owns(keys()[round]) {
					continue // A server gives it to its fleet itself.
				}
				token := fmt.Sprintf("%d/%d", round, i)
				sent[token] = true
				handOn(t, p, fleet.Trigger{Pipeline: keys()[round], Repository: token, Token: token})
			}
			if round == 15 {
				w.end(senders[3])
				senders = senders[:3]
			}
			w.run(300 * time.Millisecond)
		}
		w.run(5 * time.Second)
		for _, p := range w.replicasEver() {
			for _, g := range p.fleet.got() {
				delete(sent, g.Token)
			}
		}
		if len(sent) > 0 || w.annotations() > 0 {
			t.Errorf("lost: %v, %d stay", sent, w.annotations())
		}
	})
}

func TestTriggersAreBounded(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a, b, _, ofB := pair(w)
		if err := a.Forward(fleet.Trigger{Pipeline: ofB, Token: strings.Repeat("x", maxTriggerBytes)}); err == nil {
			t.Error("one that is too long is taken")
		}
		w.with(a, func(c *client) { c.broken = true })
		for i := range maxOutbox {
			handOn(t, a, fleet.Trigger{Pipeline: ofB, Repository: fmt.Sprint(i)})
		}
		handOn(t, a, fleet.Trigger{Pipeline: ofB, Repository: "7", Token: "again"})
		if err := a.Forward(fleet.Trigger{Pipeline: ofB, Repository: "one more"}); err == nil {
			t.Error("one more is taken")
		}
		w.mu.Lock()
		lease := w.leases[shardName("fleet", shardOf(ofB))].DeepCopy()
		lease.Annotations = map[string]string{
			triggerPrefix + "1": "{", triggerPrefix + "2": strings.Repeat("x", maxTriggerBytes+1), "other.example.com/x": "stays",
		}
		w.write("MODIFIED", lease)
		w.mu.Unlock()
		w.run(2 * time.Second)
		if w.annotations() != 1 || len(b.fleet.got()) > 0 {
			t.Errorf("%d stay, b got %v", w.annotations(), b.fleet.got())
		}
	})
}
