package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
)

// TestSlowPipelinesLeaveAPlace: pipelines that take minutes get all places but one, from their second pass on, and a
// quick one beside them goes on.
func TestSlowPipelinesLeaveAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			if strings.HasPrefix(p.def.Metadata.Name, "slow") {
				return nil, p.render(context.Background(), 2*time.Minute)
			}
			return nil, nil
		}
		var defs []Definition
		for i := range 3 {
			defs = append(defs, def(fmt.Sprint("slow-", i), urlA))
		}
		w.run(append(defs, def("quick", urlB))...)
		after(2 * slowAfter)
		same(t, "beside slow pipelines that nobody knew as such", w.ready("quick"), "True Succeeded")
		after(30 * time.Minute)
		w.push(urlA, "2")
		after(90 * time.Second)
		same(t, "slow passes at once", read(w, func() int { return w.inside }), 1)
		w.push(urlB, "2")
		after(time.Minute + time.Second)
		same(t, "passes of the quick one", len(w.passesOf("quick")), 2)
		after(10 * time.Minute) // the slow ones look at no context
	})
}

// blocking makes the passes of a pipeline block within the gate, whatever their context says.
func (w *testbed) blocking(name string) (release func()) {
	blocked := make(chan struct{})
	w.during = func(p *fakePasser) (*gitsync.Report, error) {
		if p.def.Metadata.Name != name {
			return nil, nil
		}
		leave, err := p.gate(context.Background())
		if err == nil {
			<-blocked
			leave()
		}
		return nil, err
	}
	release = sync.OnceFunc(func() { close(blocked) })
	w.t.Cleanup(release) // before the fleet is waited for
	return release
}

// TestAPassThatDoesNotStopIsLeftAlone: it fails when its time is over, others get its place, and its pipeline passes
// again when it has ended.
func TestAPassThatDoesNotStopIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, func(o *Options) { o.Workers = 1 })
		release := w.blocking("stuck")
		w.run(def("stuck", urlA), def("other", urlB))
		after(defaultPassTimeout)
		same(t, "within its time", w.ready("stuck"), "Unknown Progressing")
		after(stopTime + time.Second)
		same(t, "after it", w.ready("stuck"), "False Failed Stalled")
		s, _ := w.fleet.Pipeline("stuck")
		if m := s.Condition("Ready").Message; !strings.Contains(m, "took longer than 10m0s and does not stop") {
			t.Error(m)
		}
		same(t, "places that are held", read(w, func() int { return len(w.fleet.workers.held) }), 0)
		after(time.Hour)
		w.push(urlB, "2")
		after(2 * time.Minute)
		same(t, "passes of the other one", len(w.passesOf("other")), 2)
		same(t, "passes", len(w.passesOf("stuck")), 1)
		release()
		after(time.Second)
		same(t, "when it has ended", w.ready("stuck"), "True Succeeded")
	})
}

// TestAStopDoesNotWaitForever for a pass that does not stop.
func TestAStopDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		release := w.blocking("stuck")
		w.run(def("stuck", urlA), def("other", urlB))
		after(time.Second)
		if err := w.end(); err == nil {
			t.Error("nobody is told that a pass was cut off")
		}
		if took := time.Since(w.began); took > time.Second+defaultGrace+stopTime {
			t.Errorf("took %s", took)
		}
		release()
		synctest.Wait()
	})
}

// TestPlaces: who gets one, and how many are taken from passes that do not end.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaces(2)
		has := func(of *pace) (leave func(), ok bool) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			leave, err := s.enter(ctx, of)
			return leave, err == nil
		}
		slow := &pace{slow: true}
		leave, ok := has(slow)
		same(t, "a slow one", ok, true)
		_, ok = has(&pace{slow: true})
		same(t, "a second slow one", ok, false)
		leaveQuick, ok := has(&pace{})
		same(t, "a quick one beside it", ok, true)
		_, ok = has(&pace{})
		same(t, "a second quick one", ok, false)
		leave()
		leaveQuick()
		same(t, "held", len(s.held), 0)

		var stuck []*pace
		for range 2 * s.size {
			of := &pace{}
			_, ok := has(of)
			same(t, "beside passes that do not end", ok, true)
			time.Sleep(slowAfter)
			synctest.Wait()
			stuck = append(stuck, of)
		}
		_, ok = has(&pace{})
		same(t, "at the limit", ok, false)
		for _, of := range stuck {
			s.abandon(of)
		}
		same(t, "held by passes that do not end", len(s.held), len(stuck)-s.size)
		s.ended(stuck[0])
		same(t, "one that has ended was slow", stuck[0].slow, true)
		s.ended(stuck[0])
		same(t, "and then quick", stuck[0].slow, false)
	})
}
