package fleet

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

func afterThose(names ...string) func(*pipeline.Spec) {
	return func(s *pipeline.Spec) { s.Rollout.After = names }
}

func perMinute(n int) func(*pipeline.Spec) {
	return func(s *pipeline.Spec) { s.Rollout.MaxPerMinute = n }
}

func TestALaterPipelineWaitsUntilTheEarlierIsGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.takes = 5 * time.Second
		w.run(def("prod", urlA).with(afterThose("staging")), def("staging", urlA))
		same(t, "prod at first", w.ready("prod"), "False DependencyNotReady")
		after(11 * time.Second)
		same(t, "staging", w.passesOf("staging"), seconds(0))
		same(t, "prod", w.passesOf("prod"), seconds(5))

		w.push(urlA, "2")
		after(50 * time.Second)
		s, _ := w.fleet.Pipeline("prod")
		same(t, "prod waits for", s.Condition("Ready").Message,
			fmt.Sprintf("waits for staging, which has not rendered %s yet", short(hash("2").String())))
		after(20 * time.Second)
		same(t, "prod", w.passesOf("prod"), seconds(5, 65))

		w.mu.Lock()
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			if p.def.Metadata.Name == "staging" {
				return nil, repo.ErrRejected
			}
			return nil, nil
		}
		w.mu.Unlock()
		w.push(urlA, "3")
		after(10 * time.Minute)
		same(t, "staging", w.ready("staging"), "False Failed Stalled")
		same(t, "prod", w.ready("prod"), "False DependencyNotReady")
		same(t, "prod has not gone on", len(w.passesOf("prod")), 2)
	})
}

func TestARolloutThatCannotEndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(
			def("unknown", urlA).with(afterThose("nobody")),
			def("asleep", urlA).with(suspended), def("sleepers", urlA).with(afterThose("asleep")),
			def("a", urlA).with(afterThose("b")), def("b", urlA).with(afterThose("c")),
			def("c", urlA).with(afterThose("a")),
			def("fine", urlA),
		)
		for name, want := range map[string]string{
			"unknown":  "rollout.after names nobody, but there is no such pipeline",
			"sleepers": "waits for asleep, which is suspended",
			"a":        "rollout.after goes in a circle: a, b, c, a",
		} {
			s, _ := w.fleet.Pipeline(name)
			same(t, name, s.Condition("Ready").Message, want)
		}
		same(t, "fine", w.ready("fine"), "True Succeeded")
	})
}

func TestNoMinuteHasMorePushesThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		var defs []Definition
		for i := range 20 {
			defs = append(defs, def(fmt.Sprintf("p%02d", i), urlA).with(perMinute(4)))
		}
		defs = append(defs, def("free", urlA))
		w.run(defs...)
		same(t, "passes at once", w.count(), 5)
		after(10 * time.Minute)
		var pushes []time.Duration
		for _, o := range w.heard() {
			if o.IsPass() && o.Report.Commit != "" && o.Definition.Metadata.Name != "free" {
				pushes = append(pushes, o.Began.Sub(w.began))
			}
		}
		same(t, "pushes", len(pushes), 20)
		for i := 4; i < len(pushes); i++ {
			if pushes[i]-pushes[i-4] < time.Minute {
				t.Errorf("5 pushes between %s and %s", pushes[i-4], pushes[i])
			}
		}
		if last := pushes[len(pushes)-1]; last > 5*time.Minute {
			t.Errorf("the last is pushed after %s", last)
		}
		passes := w.count()
		same(t, "reached", w.fleet.Trigger(Trigger{}), 21)
		after(2 * time.Second)
		same(t, "passes that push nothing take no turn", w.count(), passes+21)
	})
}

func TestWindowAtItsLimit(t *testing.T) {
	now := time.Unix(0, 0)
	w := &pushLimiter{max: 2}
	check := func(at, wait time.Duration, busy bool) {
		t.Helper()
		gotWait, gotBusy := w.wait(now.Add(at))
		if gotWait != wait || gotBusy != busy {
			t.Errorf("at %s: %s %v, want %s %v", at, gotWait, gotBusy, wait, busy)
		}
	}
	check(0, 0, false)
	w.begin()
	w.begin()
	check(0, 0, true)
	w.end(now, false)
	check(0, 0, false)
	w.end(now, true)
	w.begin()
	w.end(now.Add(10*time.Second), true)
	check(10*time.Second, 50*time.Second, false)
	check(59*time.Second, time.Second, false)
	check(time.Minute, 0, false)
}
