package lease

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// pair returns an active process and a passive one.
func pair(w *testbed) (active, passive *process) {
	w.t.Helper()
	active = w.start("a", 0)
	w.until("a is active", takeover, w.one(active))
	passive = w.start("b", 0)
	w.run(5 * time.Second)
	return active, passive
}

func send(t *testing.T, p *process, key, message string) {
	t.Helper()
	if err := p.Send(key, message); err != nil {
		t.Error(err)
	}
}

func TestAMessageReachesTheActiveProcess(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a, b := pair(w)
		send(t, b, "shop", "one")
		send(t, a, "other", "a process that is active needs no message")
		w.run(4 * time.Second)
		want := []string{"one"}
		if diff := gocmp.Diff(want, a.work.got()); diff != "" || len(b.work.got()) > 0 || w.annotations() > 0 {
			t.Errorf("b got %v, %d stay, a:\n%s", b.work.got(), w.annotations(), diff)
		}
		for _, more := range []string{"one", "two", "three"} { // An equal message sent again is another message.
			send(t, b, "shop", more)
			want = append(want, more)
			w.run(4 * time.Second)
		}
		if diff := gocmp.Diff(want, a.work.got()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAMessageForAProcessThatIsDead reaches the next active process, whichever process received it.
func TestAMessageForAProcessThatIsDead(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a, b := pair(w)
		c := w.start("c", 0)
		w.run(5 * time.Second)
		w.kill(a)
		send(t, b, "shop", "from b")
		send(t, c, "mail", "from c")
		w.run(4 * time.Second)
		if w.annotations() != 2 {
			t.Fatalf("%d wait", w.annotations())
		}
		next := w.activeOne()
		w.run(4 * time.Second)
		if got := next.work.got(); len(got) != 2 || w.annotations() != 0 {
			t.Errorf("%v, %d stay", got, w.annotations())
		}
	})
}

// TestAMessageWhileTheAPIServerIsAway waits in the process that received it: a passive one, the active one, or one
// that becomes active without knowing.
func TestAMessageWhileTheAPIServerIsAway(t *testing.T) {
	for name, test := range map[string]struct{ before, during int }{
		"none was active yet": {broken, broken}, "this one was active": {none, broken},
		"answers to writes are lost": {lossy, lossy},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, w *testbed) {
				a := w.start("a", 0)
				w.disturb(a, test.before)
				w.run(5 * time.Second)
				w.disturb(a, test.during)
				w.run(TrustTime)
				for i := range maxMessages + 1 {
					send(t, a, fmt.Sprint(i), fmt.Sprint(i))
				}
				w.run(time.Minute)
				w.disturb(a, none)
				w.until("a acts on all", takeover, func() bool {
					return len(gotBy(w)) == maxMessages+1 && a.Status().Waiting == 0
				})
			})
		})
	}
}

// TestAMessageForAnActiveProcessThatIsCutOff reaches the process that takes over.
func TestAMessageForAnActiveProcessThatIsCutOff(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a, b := pair(w)
		w.disturb(a, broken)
		w.until("b owns the Lease", takeover, b.Owns)
		send(t, a, "shop", "one")
		w.run(5 * time.Second)
		w.disturb(a, none)
		w.until("b acts on it", takeover, func() bool { return slices.Contains(b.work.got(), "one") })
	})
}

// TestABurstIsFewWrites: only the last message of a burst is written.
func TestABurstIsFewWrites(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a, b := pair(w)
		before := w.writes
		for i := range 50 {
			send(t, b, "shop", fmt.Sprint(i))
			w.run(100 * time.Millisecond)
		}
		w.run(4 * time.Second)
		if got := a.work.got(); len(got) == 0 || len(got) > 8 || got[len(got)-1] != "49" {
			t.Errorf("a got %v", got)
		}
		if got := w.writes - before; got > 24 {
			t.Errorf("%d writes", got)
		}
	})
}

// TestMessagesWait holds that messages wait for the API server and for room on the Lease; none is lost, and the Lease
// never has too many.
func TestMessagesWait(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a, b := pair(w)
		w.disturb(b, broken)
		const all = 250
		for i := range all {
			send(t, b, fmt.Sprint(i), fmt.Sprint(i))
		}
		w.run(5 * time.Second)
		if w.annotations() > 0 || b.Status().Waiting != all {
			t.Errorf("%d stand, %d wait", w.annotations(), b.Status().Waiting)
		}
		w.disturb(a, frozen)
		w.disturb(b, none)
		w.until("some stand", 5*time.Second, func() bool { return w.annotations() > 0 })
		w.run(3 * time.Second)
		if w.annotations() != maxMessages || b.Status().Waiting != all-maxMessages {
			t.Errorf("%d stand, %d wait", w.annotations(), b.Status().Waiting)
		}
		w.disturb(a, none)
		w.until("all arrive", takeover, func() bool {
			if w.annotations() > maxMessages {
				t.Fatalf("%d stand", w.annotations())
			}
			return len(gotBy(w)) == all && b.Status().Waiting == 0 && w.annotations() == 0
		})
	})
}

// gotBy returns all messages that reached an active process.
func gotBy(w *testbed) map[string]bool {
	got := map[string]bool{}
	w.mu.Lock()
	ever := slices.Clone(w.ever)
	w.mu.Unlock()
	for _, p := range ever {
		for _, message := range p.work.got() {
			got[message] = true
		}
	}
	return got
}

// TestMessagesFromAllSides: no message is lost in conflicting writes, or when the active process or a process with
// waiting messages ends.
func TestMessagesFromAllSides(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		for i := range 5 {
			w.start(fmt.Sprintf("r%d", i), 0)
		}
		w.until("one is active", takeover, w.any)
		sent := map[string]bool{}
		for round := range 40 {
			for i, p := range w.all() {
				if p.Owns() {
					continue // It needs no message.
				}
				id := fmt.Sprintf("%d-%d", round, i)
				sent[id] = true
				send(t, p, id, id)
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

func TestMessagesAreBounded(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a, b := pair(w)
		if err := b.Send("shop", strings.Repeat("x", maxMessageBytes+1)); err == nil {
			t.Error("one that is too long is taken")
		}
		w.disturb(b, broken)
		for i := range maxOutbox {
			send(t, b, fmt.Sprint(i), fmt.Sprint(i))
		}
		send(t, b, "7", "again")
		if err := b.Send("one-more", "one more"); err == nil {
			t.Error("one more is taken")
		}
		w.mu.Lock()
		lease := w.lease.DeepCopy()
		lease.Annotations = map[string]string{messagePrefix + "1": strings.Repeat("x", maxMessageBytes+1),
			"other.example.com/x": "stays"}
		w.write(lease)
		w.mu.Unlock()
		w.run(4 * time.Second)
		if w.annotations() != 1 || len(a.work.got()) > 0 {
			t.Errorf("%d stay, a got %v", w.annotations(), a.work.got())
		}
	})
}
