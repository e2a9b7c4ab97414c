package replica

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// takeover is what the documentation promises.
const takeover = 30 * time.Second

// play runs a test in a world whose replicas end with it.
func play(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		defer w.close()
		test(t, w)
	})
}

func (w *world) close() {
	for _, p := range w.all() {
		w.disturb(p, -1)
		w.end(p)
	}
}

func TestOneReplicaRunsAll(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		took := w.until("a holds everything", takeover, w.held)
		if took > 2*time.Second {
			t.Errorf("that took %v", took)
		}
		if s := a.Status(); s.Shards != shardCount || s.Free != 0 || !s.Registered || !slices.Equal(s.Replicas, []string{"a"}) {
			t.Errorf("%+v", s)
		}
	})
}

// moved is which shards have another holder than before.
func moved(before, after [shardCount]string) []int {
	var out []int
	for n := range before {
		if before[n] != after[n] {
			out = append(out, n)
		}
	}
	return out
}

func TestReplicasComeAndGo(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.start("a", 0)
		w.start("b", 0)
		c := w.start("c", 0)
		w.until("three share everything", takeover, w.settled)
		three := w.holders()

		w.kill(c)
		w.until("two hold everything", takeover, w.settled)
		two := w.holders()
		for _, n := range moved(three, two) {
			if three[n] != "c" {
				t.Errorf("shard %d went from %s to %s", n, three[n], two[n])
			}
		}

		w.start("d", 0)
		w.start("e", 0)
		w.until("four share everything", takeover, w.settled)
		four := w.holders()
		for _, n := range moved(two, four) {
			if four[n] != "d" && four[n] != "e" {
				t.Errorf("shard %d went from %s to %s", n, two[n], four[n])
			}
		}
		for _, name := range []string{"a", "b", "d", "e"} {
			if mine := len(slices.DeleteFunc(slices.Clone(four[:]), func(h string) bool { return h != name })); mine < 6 {
				t.Errorf("%s has %d shards of %d", name, mine, shardCount)
			}
		}
	})
}

func TestWhoLeavesIsFollowedAtOnce(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		w.start("b", 0)
		w.until("two share everything", takeover, w.settled)
		w.end(a)
		if took := w.until("b holds everything", takeover, w.settled); took > 2*time.Second {
			t.Errorf("that took %v", took)
		}
		if w.leases["fleet-member-a"] != nil {
			t.Error("the Lease of a stays")
		}
	})
}

func TestLeftoversAreCollected(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.start("a", 0)
		b := w.start("b", 0)
		w.until("two share everything", takeover, w.settled)
		w.kill(b)
		w.until("the Lease of b is removed", takeover, func() bool { return w.leases["fleet-member-b"] == nil })
	})
}

// TestWhoRestartsUnderItsNameWaits: the process before may be alive.
func TestWhoRestartsUnderItsNameWaits(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		w.until("a holds everything", takeover, w.held)
		w.kill(a)
		w.start("a", 0)
		took := w.until("a holds everything again", takeover, w.held)
		if took < leaseTime-time.Second {
			t.Errorf("after %v already", took)
		}
	})
}

func TestTwoOfOneIdentity(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		first := w.start("a", 0)
		w.until("the first holds everything", takeover, w.held)
		second := w.start("a", 0) // The world forgets the first.
		for range 60 {
			w.run(time.Second)
			if second.Status().Registered || !first.Status().Registered {
				t.Fatal("the second is registered")
			}
		}
		if s := second.Status(); !strings.Contains(strings.Join(s.Troubles, " "), errTaken.Error()) {
			t.Errorf("it does not say why: %+v", s)
		}
		first.stop()
		<-first.ended
		w.until("the second follows", takeover, w.held)
	})
}

// TestAReplicaThatIsCutOff: it goes on to work, and posts nothing, and finds out when it is back.
func TestAReplicaThatIsCutOff(t *testing.T) {
	for name, cut := range map[string]func(*client){
		"connections are refused": func(c *client) { c.broken = true },
		"requests get no answer":  func(c *client) { c.frozen = make(chan struct{}) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, w *world) {
				a := w.start("a", 0)
				w.start("b", 0)
				w.until("two share everything", takeover, w.settled)
				key := keys()[slices.Index(sliced(w.holders()), "a")]
				before := a.fleet.changes()
				w.with(a, cut)
				w.run(trustTime + time.Second)
				if a.MayPublish(key) || !a.Owns(key) {
					t.Errorf("holds %v, mine %v", a.MayPublish(key), a.Owns(key))
				}
				w.until("b holds everything", takeover, func() bool {
					return !slices.ContainsFunc(sliced(w.holders()), func(h string) bool { return h != "b" })
				})
				w.run(time.Minute)
				if a.MayPublish(key) || !a.Owns(key) || a.fleet.changes() != before {
					t.Errorf("holds %v, mine %v, %d changes", a.MayPublish(key), a.Owns(key), a.fleet.changes()-before)
				}
				w.with(a, func(c *client) {
					if c.frozen != nil {
						close(c.frozen)
					}
					c.frozen, c.broken = nil, false
				})
				w.until("both share everything again", takeover, w.settled)
			})
		})
	}
}

func sliced(all [shardCount]string) []string { return all[:] }

// TestASuspendedReplica wakes up after a minute: the wall clock alone tells.
func TestASuspendedReplica(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		w.start("b", 0)
		w.until("two share everything", takeover, w.settled)
		key := keys()[slices.Index(sliced(w.holders()), "a")]
		began := time.Now()
		a.state.mu.Lock()
		a.state.now = func() time.Time { return time.Now().Round(0).Add(time.Minute) }
		a.state.mu.Unlock()
		if a.MayPublish(key) {
			t.Error("it has not noticed")
		}
		w.run(time.Second)
		w.until("both share everything", takeover, w.settled)
		if term := a.Status().Term; !strings.HasSuffix(term, ".2") {
			t.Errorf("after %v it still goes by %s", time.Since(began), term)
		}
	})
}

func TestClocksThatDiffer(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", -3*time.Hour)
		w.start("b", 0)
		c := w.start("c", 24*time.Hour)
		w.until("three share everything", takeover, w.settled)
		before := a.fleet.changes()
		w.run(5 * time.Minute)
		if !w.settled() || a.fleet.changes() != before || a.Status().Term != a.options.Identity+"_"+a.membership.process+".1" {
			t.Errorf("something went on: %+v", a.Status())
		}
		w.kill(c)
		w.until("two share everything", takeover, w.settled)
	})
}

// TestClocksThatAreSet: a clock that is set forward costs its replica a new term and nothing else,
// one that is set back nothing; who dies at that moment is followed as ever.
func TestClocksThatAreSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, test := range map[string]struct {
		who []string
		off time.Duration
	}{
		"one, an hour forward": {[]string{"a"}, time.Hour}, "all, a year forward": {[]string{"a", "b", "c"}, year},
		"one, an hour back": {[]string{"a"}, -time.Hour}, "all, a year back": {[]string{"a", "b", "c"}, -year},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, w *world) {
				all := map[string]*process{}
				for _, id := range []string{"a", "b", "c"} {
					all[id] = w.start(id, 0)
				}
				w.until("three share everything", takeover, w.settled)
				w.run(time.Minute)
				for _, id := range test.who {
					all[id].clock.Set(test.off)
				}
				w.run(time.Minute)
				w.until("three share everything", takeover, w.settled)
				for id, p := range all {
					want := ".1"
					if test.off > 0 && slices.Contains(test.who, id) {
						want = ".2"
					}
					if term := p.Status().Term; !strings.HasSuffix(term, want) {
						t.Errorf("%s goes by %s, want %s", id, term, want)
					}
				}
				for _, id := range test.who { // And right again, when somebody dies.
					all[id].clock.Set(0)
				}
				w.kill(all["c"])
				w.until("two share everything", takeover, w.settled)
			})
		})
	}
}

// TestTheAPIServerIsAway: all go on with what they have, nobody posts, and afterwards all have what
// they had, without a change.
func TestTheAPIServerIsAway(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.start(name, 0)
		}
		w.until("three share everything", takeover, w.settled)
		before, mine := w.holders(), map[string]int{}
		for _, p := range w.all() {
			mine[p.options.Identity] = p.fleet.changes()
			w.with(p, func(c *client) { c.broken = true })
		}
		w.run(trustTime + time.Second)
		for range 60 {
			w.run(time.Second)
			for n, key := range keys() {
				for _, p := range w.all() {
					if p.MayPublish(key) || p.Owns(key) != (before[n] == p.options.Identity) {
						t.Fatalf("%s: holds %v, mine %v", p.options.Identity, p.MayPublish(key), p.Owns(key))
					}
				}
			}
		}
		for _, p := range w.all() {
			w.with(p, func(c *client) { c.broken = false })
		}
		w.until("three share everything", takeover, w.settled)
		w.run(time.Minute)
		if got := moved(before, w.holders()); len(got) > 0 {
			t.Errorf("moved: %v", got)
		}
		for _, p := range w.all() {
			if p.fleet.changes() != mine[p.options.Identity] {
				t.Errorf("%s: %d changes", p.options.Identity, p.fleet.changes()-mine[p.options.Identity])
			}
		}
	})
}

// TestAWatchThatGoesWrong: it is begun anew, and what came meanwhile is found.
func TestAWatchThatGoesWrong(t *testing.T) {
	for name, break_ := range map[string]func(*world, *client){
		"silent":   func(_ *world, c *client) { c.deaf = true },
		"too old":  func(w *world, _ *client) { w.oldest = w.version + 1 },
		"an error": func(w *world, _ *client) { w.history[len(w.history)-1].Type = watch.Error },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, w *world) {
				a := w.start("a", 0)
				w.until("a holds everything", takeover, w.held)
				w.with(a, func(c *client) { break_(w, c) })
				w.run(2 * time.Second)
				b := w.start("b", 0)
				w.run(time.Second)
				w.with(a, func(c *client) { c.deaf = false })
				w.until("both share everything", takeover, w.settled)
				w.kill(b)
				w.until("a holds everything again", takeover, w.settled)
			})
		})
	}
}

// TestAReplicaThatHearsNothingLeaves: it would be given shards and not know.
func TestAReplicaThatHearsNothingLeaves(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		b := w.start("b", 0)
		w.until("two share everything", takeover, w.settled)
		w.with(a, func(c *client) { c.forbids = "list"; c.deaf = true })
		w.run(takeover)
		w.kill(b)
		w.start("c", 0)
		w.until("c holds everything", takeover, func() bool {
			return !slices.ContainsFunc(sliced(w.holders()), func(h string) bool { return h != "c" })
		})
		w.with(a, func(c *client) { c.forbids, c.deaf = "", false })
		w.until("both share everything", takeover, w.settled)
	})
}

// TestHandWork: somebody removes Leases by hand.
func TestHandWork(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		w.start("b", 0)
		w.until("two share everything", takeover, w.settled)
		w.mu.Lock()
		for _, name := range []string{"fleet-member-a", "fleet-shard-7", "fleet-shard-8"} {
			w.write(watch.Deleted, w.leases[name])
		}
		label := w.leases["fleet-member-b"].DeepCopy()
		label.Labels["checked"] = "yes"
		w.write(watch.Modified, label)
		w.mu.Unlock()
		time.Sleep(time.Second) // Whoever removes a Lease before its time sees two holders until the watch tells the former.
		w.run(beatTime)
		w.until("two share everything", takeover, w.settled)
		if !strings.HasSuffix(a.Status().Term, ".2") || w.leases["fleet-member-b"].Labels["checked"] != "yes" {
			t.Errorf("%+v %v", a.Status(), w.leases["fleet-member-b"].Labels)
		}
	})
}

// TestAHandOverWaitsForPasses that are under way: until they have ended, the shard is held.
func TestAHandOverWaitsForPasses(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		w.until("a holds everything", takeover, w.held)
		a.fleet.mu.Lock()
		a.fleet.busy = make(chan struct{})
		a.fleet.mu.Unlock()
		b := w.start("b", 0)
		w.run(2 * time.Minute)
		handed := 0
		for n, key := range keys() {
			if theirs := owner(n, []string{a.membership.name, b.membership.name}) == b.membership.name; theirs {
				handed++
				if a.Owns(key) || !a.MayPublish(key) || b.Owns(key) {
					t.Fatalf("shard %d: of a %v, held %v, of b %v", n, a.Owns(key), a.MayPublish(key), b.Owns(key))
				}
			}
		}
		if len(a.fleet.drained) != handed || handed == 0 {
			t.Errorf("%d of %d are waited for", len(a.fleet.drained), handed)
		}
		close(a.fleet.busy)
		if took := w.until("both share everything", takeover, w.settled); took > 2*time.Second {
			t.Errorf("that took %v", took)
		}
	})
}

// TestAHandOverThatIsCalledOff: who should have the shards is gone before the passes have ended.
func TestAHandOverThatIsCalledOff(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		w.until("a holds everything", takeover, w.held)
		a.fleet.mu.Lock()
		a.fleet.busy = make(chan struct{})
		a.fleet.mu.Unlock()
		b := w.start("b", 0)
		w.run(settleTime + 5*time.Second)
		w.end(b)
		w.run(2 * time.Second)
		writes := w.writes
		close(a.fleet.busy)
		w.until("a runs everything", takeover, w.settled)
		if w.writes-writes > 2 {
			t.Errorf("%d writes", w.writes-writes)
		}
	})
}

// TestAReplicaThatCrashesOverAndOver moves nothing.
func TestAReplicaThatCrashesOverAndOver(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		a := w.start("a", 0)
		w.until("a holds everything", takeover, w.held)
		before := a.fleet.changes()
		for i := range 10 {
			b := w.start(fmt.Sprintf("b-%d", i), 0)
			w.run(settleTime - time.Second)
			w.kill(b)
		}
		if a.fleet.changes() != before {
			t.Errorf("%d changes", a.fleet.changes()-before)
		}
	})
}

// TestWrites: what replicas cost the API server while nothing happens.
func TestWrites(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.start(name, 0)
		}
		w.until("three share everything", takeover, w.settled)
		w.run(time.Second)
		before := w.writes
		w.run(time.Minute)
		if got := w.writes - before; got < 30 || got > 36 {
			t.Errorf("%d writes of three replicas in a minute", got)
		}
	})
}

// TestRandomHistories lets replicas come, go, die, be cut off and come back, at random, and sets
// their clocks, and asks for everything to be held within 30 s of the last trouble.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed)
			defer w.close()
			random := rand.New(rand.NewPCG(seed, 2))
			names := 0
			for range 25 {
				all := w.all()
				switch random.IntN(8) {
				case 0, 1:
					if len(all) < 6 {
						w.start(fmt.Sprintf("r%d", names), time.Duration(random.IntN(7200)-3600)*time.Second)
						names++
					}
				case 2:
					if len(all) > 0 {
						w.kill(all[random.IntN(len(all))])
					}
				case 3:
					if len(all) > 0 {
						w.end(all[random.IntN(len(all))])
					}
				case 4:
					if len(all) > 0 {
						all[random.IntN(len(all))].clock.Set(time.Duration(random.IntN(7200)-3600) * time.Second)
					}
				default:
					if len(all) > 0 {
						w.disturb(all[random.IntN(len(all))], random.IntN(4))
					}
				}
				w.run(time.Duration(random.IntN(20000)) * time.Millisecond)
			}
			w.start("last", 0)
			for _, p := range w.all() {
				w.disturb(p, -1)
			}
			w.until(fmt.Sprintf("everything is held (seed %d)", seed), takeover, w.held)
			w.until("by the right one", takeover, w.settled)
		})
	}
}

// disturb sets one trouble of a replica, or ends all with any other number.
func (w *world) disturb(p *process, kind int) {
	w.with(p, func(c *client) {
		if c.frozen != nil {
			close(c.frozen)
		}
		c.frozen, c.broken, c.deaf, c.forbids = nil, false, false, ""
		switch kind {
		case 0:
			c.broken = true
		case 1:
			c.frozen = make(chan struct{})
		case 2:
			c.deaf = true
		}
	})
}

func TestNames(t *testing.T) {
	for name, test := range map[string]struct{ fleet, identity, want string }{
		"a pod":                         {"agentry", "agentry-5d4f-x2x", ""},
		"a host with capitals":          {"agentry", "Build-7.example.com.", ""},
		"no identity":                   {"agentry", "", `identity ""`},
		"an identity with spaces":       {"agentry", "my host", `identity "my host"`},
		"an identity that is too long":  {"agentry", strings.Repeat("a", maxIdentityBytes+1), "identity"},
		"one that is just short enough": {"agentry", strings.Repeat("a", maxIdentityBytes), ""},
		"a fleet with a dot":            {"agent.ry", "a", "name of the replicas"},
		"a fleet that is too long":      {strings.Repeat("a", maxNameBytes+1), "a", "name of the replicas"},
		"no fleet":                      {"", "a", "name of the replicas"},
	} {
		_, err := New(Options{Name: test.fleet, Identity: test.identity})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRing: who has the most weight has it among fewer as well, and shares are fair.
func TestRing(t *testing.T) {
	members := []string{"a", "b", "c", "d"}
	share := map[string]int{}
	for n := range shardCount {
		best := owner(n, members)
		share[best]++
		for _, gone := range members {
			rest := slices.DeleteFunc(slices.Clone(members), func(m string) bool { return m == gone })
			if gone != best && owner(n, rest) != best {
				t.Errorf("shard %d moves although %s stays", n, best)
			}
		}
		slices.Reverse(members)
	}
	for _, m := range members {
		if share[m] < 8 {
			t.Errorf("%s has %d of %d", m, share[m], shardCount)
		}
	}
	if owner(0, nil) != "" {
		t.Error("nobody has an owner")
	}
	// What the hashes are is a contract between versions that run side by side.
	if shardOf("shop") != 61 || owner(5, []string{"a", "b", "c"}) != "b" {
		t.Errorf("hashes changed: %d %s", shardOf("shop"), owner(5, []string{"a", "b", "c"}))
	}
}
