package fleet

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
)

// These tests hold what programs like ours were found to do wrong. The comment of each test names
// the issues in which users of those programs report it.

// TestFailuresAreRetriedWithBackOff: argo-cd#28051, #22506. What fails is retried ever more rarely,
// and nothing that is told of it, nor a configuration that is read again, begins anew.
func TestFailuresAreRetriedWithBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.during = func(*fakePasser) (*gitsync.Report, error) { return nil, errNoAnswer }
		defs := []Definition{def("x", urlA)}
		w.run(defs...)
		for range 360 {
			after(10 * time.Second)
			w.fleet.Set(defs, nil)
			w.fleet.Status()
		}
		// 0, 1, 3, 7 ... 255 s, then every 5 minutes.
		if n := len(w.passesOf("x")); n != 9+(3600-255)/300 {
			t.Errorf("%d passes in an hour: %v", n, w.passesOf("x"))
		}
	})
}

// TestAnIdleFleetOnlyListsRefs: argo-cd#25347, #24071. Who starts anew looks at
// once; after that nothing is done for ten hours but to ask whether anything has moved, and what
// moves then is not missed.
func TestAnIdleFleetOnlyListsRefs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA))
		after(10 * time.Hour)
		same(t, "passes of an idle fleet", w.passesOf("x"), seconds(0))
		same(t, "listings", len(w.listed(urlA)), 601)
		w.push(urlA, "2")
		after(time.Minute)
		same(t, "passes", len(w.passesOf("x")), 2)
	})
}

// TestOneRevisionIsRenderedOnce: argo-cd#28080. However often it is told of,
// while it is being rendered or after.
func TestOneRevisionIsRenderedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.takes = 10 * time.Second
		w.run(def("x", urlA))
		after(20 * time.Second)
		w.push(urlA, "2")
		for range 50 {
			w.fleet.Trigger(Trigger{Repository: "git.example.com/a", Reason: ReasonWebhook})
			after(time.Second)
		}
		same(t, "passes", w.passesOf("x"), seconds(0, 20))
	})
}

// TestTwoSpellingsOfAURLAreOneRemote: argo-cd#23564. They are one remote, which is asked once;
// and of two that would write to one place so, one runs.
func TestTwoSpellingsOfAURLAreOneRemote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		spelled := def("y", "https://GIT.example.com:443/a/")
		double := def("z", "https://git.example.com/a")
		double.Spec.Output.Branch = "env/x"
		w.run(def("x", urlA), spelled, double)
		after(10 * time.Second)
		same(t, "remotes", len(w.fleet.Remotes()), 1)
		same(t, "listings", len(w.listed(urlA)), 1)
		same(t, "another spelling", w.ready("y"), "True Succeeded")
		same(t, "another spelling of a place that is taken", w.ready("z"), "False Failed Stalled")
	})
}

// TestMemoryStaysWithinItsBound: image-automation-controller#600, #785, source-controller#527. What a
// hundred pipelines keep stays within the bound, and none of them stops for that.
func TestMemoryStaysWithinItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 1000
		w := newTestbed(t, func(o *Options) { o.MemoryBytes = bound })
		w.size = 100
		var defs []Definition
		for i := range 100 {
			defs = append(defs, def(fmt.Sprintf("p%02d", i), urlA))
		}
		w.run(defs...)
		for i := range 5 {
			after(time.Minute)
			if kept := w.fleet.MemoryBytes(); kept > bound {
				t.Errorf("%d bytes are kept", kept)
			}
			w.push(urlA, fmt.Sprint(i))
		}
		after(time.Minute)
		same(t, "passes", w.count(), 600)
	})
}

// TestARemoteThatNeverAnswersIsAnError: image-automation-controller#689. A remote takes
// a question and never answers: that is an error before long, which says since when, and all goes
// on when it answers again.
func TestARemoteThatNeverAnswersIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA))
		after(time.Second)
		last := w.fleet.Remotes()[0].LastRound.Time
		silence := func(on bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.silent[normalURL(urlA)] = on
		}
		silence(true)
		after(2 * time.Hour)
		r := w.fleet.Remotes()[0]
		if r.Failures == 0 || r.Error == "" || !r.LastRound.Time.Equal(last) {
			t.Errorf("%+v", r)
		}
		same(t, "ready", w.ready("x"), "False Failed")
		silence(false)
		w.push(urlA, "2")
		after(20 * time.Minute)
		same(t, "ready", w.ready("x"), "True Succeeded")
		if p := w.passesOf("x"); len(p) < 2 || !slices.IsSorted(p) {
			t.Errorf("passes %v", p)
		}
	})
}
