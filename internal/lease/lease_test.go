package lease

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// takeover is the longest takeover time that the documentation promises.
const takeover = 20 * time.Second

func TestOneProcessIsActive(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a := w.start("a", 0)
		if took := w.until("a is active", takeover, w.one(a)); took > time.Second {
			t.Errorf("that took %v", took)
		}
		for _, name := range []string{"b", "c"} {
			w.start(name, 0)
		}
		w.run(5 * time.Minute)
		if !w.one(a)() || len(a.work.changes()) != 1 {
			t.Errorf("after a while:\n%s", w.explain())
		}
		if s := w.all()[1].Status(); s.Active || !s.Connected || !strings.HasPrefix(s.Holder, "a_") ||
			s.Problem != nil {
			t.Errorf("a passive one: %+v", s)
		}
	})
}

func TestAProcessThatIsKilledIsFollowed(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a := w.start("a", 0)
		w.until("a is active", takeover, w.one(a))
		b, c := w.start("b", 0), w.start("c", 0)
		w.run(time.Minute)
		w.kill(a)
		took := w.until("another is active", takeover, w.any)
		if took < leaseTime-roundTime-time.Second {
			t.Errorf("after %v already", took)
		}
		next := w.activeOne()
		w.end(next)
		last := map[*process]*process{b: c, c: b}[next]
		if took := w.until("the last is active", takeover, w.one(last)); took > roundTime+time.Second {
			t.Errorf("one that ends is followed after %v", took)
		}
	})
}

// TestARestartedProcessWaitsForItsLease: the earlier process with its identity may still run.
func TestARestartedProcessWaitsForItsLease(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a := w.start("a", 0)
		w.until("a is active", takeover, w.one(a))
		w.kill(a)
		again := w.start("a", 0)
		if took := w.until("a is active again", takeover, w.one(again)); took < leaseTime-time.Second {
			t.Errorf("after %v already", took)
		}
	})
}

// TestAProcessThatIsCutOff stays active, and owns nothing. When it is back, it is passive.
func TestAProcessThatIsCutOff(t *testing.T) {
	for name, kind := range map[string]int{"connections are refused": broken, "requests get no answer": frozen,
		"answers to writes are lost": lossy} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, w *testbed) {
				a := w.start("a", 0)
				w.until("a is active", takeover, w.one(a))
				b := w.start("b", 0)
				w.run(time.Minute)
				w.disturb(a, kind)
				w.run(TrustTime + time.Second)
				if s := a.Status(); a.Owns() || !s.Active || s.Connected || !a.work.isActive() {
					t.Errorf("cut off: %+v, owns %v", s, a.Owns())
				}
				if kind == lossy { // It renews the Lease without noticing.
					w.run(time.Minute)
					w.disturb(a, none)
					w.until("a owns the Lease again", takeover, w.one(a))
					return
				}
				w.until("b owns the Lease", takeover, b.Owns)
				w.run(time.Minute)
				if a.Owns() || !a.work.isActive() {
					t.Error("the one that is cut off has changed")
				}
				w.disturb(a, none)
				w.until("b alone is active", takeover, w.one(b))
			})
		})
	}
}

// TestASuspendedProcess wakes up after a minute, which only the wall clock shows.
func TestASuspendedProcess(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a := w.start("a", 0)
		w.until("a is active", takeover, w.one(a))
		a.clock.Set(time.Minute)
		if a.Owns() {
			t.Error("it has not noticed")
		}
		w.until("a has renewed the Lease", takeover, w.one(a))
	})
}

func TestClocksThatDiffer(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a := w.start("a", -3*time.Hour)
		w.until("a is active", takeover, w.one(a))
		w.start("b", 0)
		w.start("c", 24*time.Hour)
		w.run(5 * time.Minute)
		if !w.one(a)() || len(a.work.changes()) != 1 {
			t.Errorf("something went on:\n%s", w.explain())
		}
		w.kill(a)
		w.until("another is active", takeover, w.any)
	})
}

// TestClocksThatAreSet: setting the clocks changes nothing.
func TestClocksThatAreSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, test := range map[string]struct {
		who []string
		off time.Duration
	}{
		"the active one, an hour forward": {[]string{"a"}, time.Hour},
		"all, a year forward":             {[]string{"a", "b", "c"}, year},
		"a passive one, an hour forward":  {[]string{"b"}, time.Hour},
		"all, a year back":                {[]string{"a", "b", "c"}, -year},
		"the active one, an hour back":    {[]string{"a"}, -time.Hour},
		"a passive one, an hour back":     {[]string{"b"}, -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, w *testbed) {
				all := map[string]*process{"a": w.start("a", 0)}
				w.until("a is active", takeover, w.one(all["a"]))
				all["b"], all["c"] = w.start("b", 0), w.start("c", 0)
				w.run(time.Minute)
				for _, id := range test.who {
					all[id].clock.Set(test.off)
				}
				w.run(time.Minute)
				if !w.one(all["a"])() || len(all["a"].work.changes()) != 1 {
					t.Errorf("something went on:\n%s", w.explain())
				}
				for _, id := range test.who { // Set it right again when the active one dies.
					all[id].clock.Set(0)
				}
				w.kill(all["a"])
				w.until("another is active", takeover, w.any)
			})
		})
	}
}

// TestTheAPIServerIsAway: the active process continues, nobody owns the Lease, and afterwards everything is as before,
// even for processes that started meanwhile.
func TestTheAPIServerIsAway(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a := w.start("a", 0)
		w.until("a is active", takeover, w.one(a))
		for i := range 6 {
			w.run(time.Duration(w.random.IntN(10000)) * time.Millisecond)
			w.start(fmt.Sprintf("b%d", i), 0)
			for _, p := range w.all() {
				w.disturb(p, broken)
			}
			w.run(TrustTime + time.Second)
			for range 30 {
				w.run(time.Second)
				for _, p := range w.all() {
					if p.Owns() || p.work.isActive() != (p == a) {
						t.Fatalf("%s: owns %v, works %v", p.options.Identity, p.Owns(), p.work.isActive())
					}
				}
			}
			for _, p := range slices.Backward(w.all()) { // The active one comes back last.
				w.disturb(p, none)
				w.run(2 * time.Second)
			}
			w.until("a is active", takeover, w.one(a))
		}
		w.run(time.Minute)
		if len(a.work.changes()) != 1 {
			t.Errorf("a was not active all the time: %v", a.work.changes())
		}
	})
}

// TestManualChangesOfTheLeaseAreHarmless: deleting or labelling the Lease changes nothing for processes that have read
// it.
func TestManualChangesOfTheLeaseAreHarmless(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		a := w.start("a", 0)
		w.until("a is active", takeover, w.one(a))
		b := w.start("b", 0)
		w.until("b has read the Lease", time.Second, func() bool { return b.Status().Connected })
		for range 20 {
			w.run(3*time.Second + time.Duration(w.random.IntN(3000))*time.Millisecond) // b sees it again
			w.mu.Lock()
			w.lease = nil
			w.mu.Unlock()
		}
		w.run(3 * time.Second)
		w.mu.Lock()
		label := w.lease.DeepCopy()
		label.Labels["checked"] = "yes"
		w.write(label)
		w.mu.Unlock()
		w.run(time.Minute)
		if !w.one(a)() || len(a.work.changes()) != 1 || w.lease.Labels["checked"] != "yes" {
			t.Errorf("%s%v", w.explain(), w.lease.Labels)
		}
	})
}

// TestWrites counts the requests of processes to the API server while nothing happens.
func TestWrites(t *testing.T) {
	play(t, func(t *testing.T, w *testbed) {
		for _, name := range []string{"a", "b", "c"} {
			w.start(name, 0)
		}
		w.until("one is active", takeover, w.any)
		before := w.writes
		w.run(time.Minute)
		if got := w.writes - before; got < 25 || got > 31 {
			t.Errorf("%d writes of three processes in a minute", got)
		}
	})
}

// TestRandomHistories: at random, processes start, end, die and are cut off, and their clocks are set. Two never own
// the Lease at the same time, and after the last fault one owns it within the promised time.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			w := newTestbed(t, seed)
			defer w.close()
			random := rand.New(rand.NewPCG(seed, 2))
			for i := range 40 {
				all := w.all()
				what := random.IntN(8)
				if len(all) == 0 || what < 2 && len(all) < 6 {
					w.start(fmt.Sprintf("r%d", i), time.Duration(random.IntN(7200)-3600)*time.Second)
					continue
				}
				p := all[random.IntN(len(all))]
				switch what {
				case 2:
					w.kill(p)
				case 3:
					w.end(p)
				case 4:
					p.clock.Set(time.Duration(random.IntN(7200)-3600) * time.Second)
				default:
					w.disturb(p, random.IntN(kinds))
				}
				w.run(time.Duration(random.IntN(20000)) * time.Millisecond)
			}
			w.start("last", 0)
			for _, p := range w.all() {
				w.disturb(p, none)
			}
			w.until(fmt.Sprintf("one is active (seed %d)", seed), takeover, w.any)
		})
	}
}
