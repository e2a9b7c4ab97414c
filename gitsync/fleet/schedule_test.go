package fleet

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

func seconds(s ...float64) []float64 { return append([]float64{}, s...) }

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAnIdleFleetListsOncePerIntervalAndPassesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.push(urlA, "1")
		w.run(def("x", urlA), def("y", urlA), def("z", urlA))
		after(5*time.Minute + time.Second)
		same(t, "listings", w.listed(urlA),
			[]time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute, 5 * time.Minute})
		for _, name := range []string{"x", "y", "z"} {
			same(t, "passes of "+name, w.passesOf(name), seconds(0))
			same(t, name, w.ready(name), "True Succeeded")
		}
	})
}

func TestARefChangeTriggersOnlyThePipelinesThatReadIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA), def("y", urlB))
		after(30 * time.Second)
		w.push(urlA, "2")
		after(2 * time.Minute)
		same(t, "passes of x", w.passesOf("x"), seconds(0, 60))
		same(t, "passes of y", w.passesOf("y"), seconds(0))
	})
}

func TestAPushDuringARoundIsNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.returns, w.takes = 5*time.Second, 57*time.Second
		w.run(def("x", urlA))
		after(5 * time.Minute)
		same(t, "pushed while a round that had listed the refs was under way", w.passesOf("x"), seconds(5))
	})
}

func TestARoundBeforeTheEndOfAPassSeesItsPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			w.mu.Lock()
			report := p.report()
			w.mu.Unlock()
			time.Sleep(70 * time.Second)
			return report, nil
		}
		w.run(def("x", urlA))
		after(5 * time.Minute)
		same(t, "pushed before a round, and ended after it", w.passesOf("x"), seconds(0))
	})
}

func TestAnotherPushToTheOutputDuringAPassIsSeenAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		first := true
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			if !first {
				return nil, nil
			}
			first = false
			time.Sleep(10 * time.Second)
			w.mu.Lock()
			w.set(urlA, "refs/heads/env/x", hash("somebody else's"))
			w.mu.Unlock()
			time.Sleep(60 * time.Second) // a round sees it
			return &gitsync.Report{Pipeline: "x"}, nil
		}
		w.run(def("x", urlA))
		after(5 * time.Minute)
		same(t, "passes", w.passesOf("x"), seconds(0, 70))
	})
}

func TestABurstOfTriggersIsTwoPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA), def("y", urlB))
		after(10 * time.Second)
		for i := range 50 {
			w.push(urlA, fmt.Sprint(i))
			if n := w.fleet.Trigger(Trigger{Repository: "git.example.com/a", Reason: ReasonWebhook}); n != 1 {
				t.Fatalf("reached %d", n)
			}
			after(10 * time.Millisecond)
		}
		after(20 * time.Second)
		same(t, "passes", w.passesOf("x"), seconds(0, 10, 11))
		same(t, "listings", w.listed(urlA), []time.Duration{0, 10 * time.Second, 11 * time.Second})
		same(t, "passes of the other", w.passesOf("y"), seconds(0))
	})
}

func TestARepositoryTriggerWithoutAMoveIsNoPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA))
		after(10 * time.Second)
		w.fleet.Trigger(Trigger{Repository: "git.example.com/a"})
		after(10 * time.Second)
		same(t, "passes", w.passesOf("x"), seconds(0))
		same(t, "listings", len(w.listed(urlA)), 2)
	})
}

func TestAManualTriggerPassesAnywayAndIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA), def("y", urlA))
		after(10 * time.Second)
		if n := w.fleet.Trigger(Trigger{Pipeline: "x", Reason: ReasonAPI, Token: "now"}); n != 1 {
			t.Errorf("reached %d", n)
		}
		after(time.Second)
		same(t, "passes of x", w.passesOf("x"), seconds(0, 10))
		same(t, "passes of y", w.passesOf("y"), seconds(0))
		s, _ := w.fleet.Pipeline("x")
		same(t, "token", s.LastHandledReconcileAt, "now")
		same(t, "trigger", s.LastPass.Trigger, ReasonAPI)
		if n := w.fleet.Trigger(Trigger{Pipeline: "nobody"}); n != 0 {
			t.Errorf("reached %d", n)
		}
	})
}

func TestATriggerDuringAPassIsOneFurtherPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.takes = 10 * time.Second
		w.run(def("x", urlA))
		for range 5 {
			after(time.Second)
			w.fleet.Trigger(Trigger{Pipeline: "x", Token: "t"})
		}
		s, _ := w.fleet.Pipeline("x")
		same(t, "the token waits for its pass", s.LastHandledReconcileAt, "")
		after(time.Minute)
		same(t, "passes", w.passesOf("x"), seconds(0, 10))
	})
}

func TestMovesOfTwoRemotesAreOnePassASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA, urlB))
		after(10 * time.Second)
		w.push(urlA, "2")
		w.fleet.Trigger(Trigger{Repository: "git.example.com/a"})
		after(250 * time.Millisecond)
		w.push(urlB, "2")
		w.fleet.Trigger(Trigger{Repository: "git.example.com/b"})
		after(10 * time.Second)
		same(t, "passes", w.passesOf("x"), seconds(0, 10, 11))
	})
}

func TestAPassThatWasAskedForWaitsForANewListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.answers = 3 * time.Second
		w.run(def("x", urlA))
		after(10 * time.Second)
		w.fleet.Trigger(Trigger{Pipeline: "x"})
		after(10 * time.Second)
		same(t, "passes", w.passesOf("x"), seconds(3, 13))
	})
}

func TestATipThatMovesDuringAPassIsCaughtByTheNextRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.takes = 10 * time.Second
		w.run(def("x", urlA))
		after(5 * time.Second)
		w.push(urlA, "2")
		w.fleet.Trigger(Trigger{Repository: "git.example.com/a"})
		after(30 * time.Second)
		same(t, "passes", w.passesOf("x"), seconds(0, 10))
	})
}

func TestOwnPushesCauseNoPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA))
		for i := range 3 {
			w.push(urlA, fmt.Sprint(i))
			after(2 * time.Minute)
		}
		after(time.Minute)
		if len(w.passesOf("x")) != 4 {
			t.Errorf("%v", w.passesOf("x"))
		}
	})
}

func TestAnOutputThatSomebodyElseMovesOrDeletesIsPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		d := def("x", urlA).with(output(urlO))
		w.push(urlA, "1")
		w.run(d)
		good := w.tip(urlO, "env/x")
		for _, other := range []string{"", "by hand"} {
			w.mu.Lock()
			w.set(urlO, "refs/heads/env/x", repoHash(other))
			w.mu.Unlock()
			after(time.Minute)
			same(t, "tip", w.tip(urlO, "env/x"), good)
		}
	})
}

func TestFailuresAreRetriedAfterAGrowingWhileUntilACommitComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.during = failing(fmt.Errorf("push: %w", transport.ErrUnreachable))
		w.run(def("x", urlA))
		after(20 * time.Second)
		// The harness' randomness is 1: each wait is as long as it may be.
		same(t, "passes", w.passesOf("x"), seconds(0, 1, 3, 7, 15))
		same(t, "ready", w.ready("x"), "False Failed")
		w.push(urlA, "2")
		w.fleet.Trigger(Trigger{Repository: "git.example.com/a"})
		synctest.Wait()
		same(t, "passes after a commit", w.passesOf("x"), seconds(0, 1, 3, 7, 15, 20))
		w.mu.Lock()
		w.during = nil
		w.mu.Unlock()
		after(5 * time.Minute)
		same(t, "ready", w.ready("x"), "True Succeeded")
		s, _ := w.fleet.Pipeline("x")
		same(t, "failures", s.Failures, 0)
	})
}

func TestADiskThatWasFullIsTriedAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.during = func(*fakePasser) (*gitsync.Report, error) { return nil, fmt.Errorf("fetch: %w", repo.ErrCache) }
		w.run(def("x", urlA))
		after(2 * time.Hour)
		same(t, "ready", w.ready("x"), "False Failed Stalled")
		w.mu.Lock()
		w.during = nil
		w.mu.Unlock()
		after(maxLocalBackoff + time.Second)
		same(t, "ready", w.ready("x"), "True Succeeded")
	})
}

func TestBackoffGrowsToItsLimitAndIsAllRandom(t *testing.T) {
	one := func() float64 { return 1 }
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 9: 256 * time.Second,
		10: 5 * time.Minute, 1_000_000: 5 * time.Minute} {
		if got := backoff(failures, one); got != want {
			t.Errorf("%d: %s, want %s", failures, got, want)
		}
		if got := backoff(failures, func() float64 { return 0 }); got != 0 {
			t.Errorf("%d: %s", failures, got)
		}
	}
}

func TestJitterIsAShareUpAndDown(t *testing.T) {
	for r, want := range map[float64]time.Duration{0: 57 * time.Second, 0.5: time.Minute, 1: 63 * time.Second} {
		if got := jittered(time.Minute, 0.05, func() float64 { return r }); got != want {
			t.Errorf("%v: %s, want %s", r, got, want)
		}
	}
}

// TestChartsAreLookedUpAgain: a pass can ask for the next one, although nothing moves until then.
func TestChartsAreLookedUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			report := p.report()
			if p.def.Metadata.Name == "x" {
				report.NextPass = time.Now().Add(10 * time.Minute)
			}
			return report, nil
		}
		w.run(def("x", urlA), def("y", urlA))
		after(15 * time.Minute)
		same(t, "passes of x", w.passesOf("x"), seconds(0, 600))
		same(t, "x", w.ready("x"), "True Succeeded")
		w.push(urlA, "2") // a pass for another reason puts it off
		after(11 * time.Minute)
		same(t, "passes of x", w.passesOf("x"), seconds(0, 600, 960, 1560))
		same(t, "passes of y", w.passesOf("y"), seconds(0, 960))
	})
}
