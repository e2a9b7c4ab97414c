package poll

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func slowly(pod func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		time.Sleep(4 * time.Second)
		return pod(ctx)
	}
}

// TestPodsThatAnswerSlowlyDoNotStarveTheOthers has more slow pods than workers.
func TestPodsThatAnswerSlowlyDoNotStarveTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		var pods []Pod
		for n := range 200 {
			w.set(n, slowly(runs(n, "agent")))
			pods = append(pods, podN(n))
		}
		w.set(0, refuses)
		p := start(t, w, func(o *Options) { o.FirstTimeout = o.Timeout })
		p.Set(pods)
		sleep(5 * time.Minute)
		if got := len(seen(t, p)); got != 199 {
			t.Fatalf("%d pods in the first round", got)
		}
		w.set(0, runs(0, "agent"))
		w.set(200, runs(200, "agent"))
		p.Set(append(pods, podN(200)))
		sleep(10 * time.Second)
		if s := state(p, 200); s.State != StateGood {
			t.Errorf("a new pod waits: %+v", s)
		}
		sleep(time.Minute)
		if s := state(p, 0); s.State != StateGood {
			t.Errorf("a pod that failed waits: %+v", s)
		}
	})
}

// TestPodsThatBeginToHangDelayNoOthers: a tenth of five thousand pods begins to hang.
func TestPodsThatBeginToHangDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all, hung, interval = 5000, 500, 10 * time.Second
		w := newFakePods()
		var pods []Pod
		for n := range all {
			w.set(n, runs(n, "agent"))
			pods = append(pods, podN(n))
		}
		p := start(t, w, func(o *Options) { o.Interval, o.Workers, o.MaxDocument = interval, 128, 10<<20 })
		p.Set(pods)
		sleep(5 * interval)
		for n := range hung {
			w.set(n, hangs)
		}
		sleep(5 * interval)
		longest := time.Duration(0)
		for n := hung; n < all; n++ {
			for i, at := range w.asked[n][2:] { // The first wait spreads them.
				longest = max(longest, at.Sub(w.asked[n][i+1]))
			}
		}
		if most := interval * 115 / 100; longest > most {
			t.Errorf("a pod that answers waited for %s, more than %s", longest, most)
		}
	})
}

// TestAPodThatStumblesIsSoonAskedAgain: so many other pods hang that the queue of failing pods is minutes long.
func TestAPodThatStumblesIsSoonAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		var pods []Pod
		for n := range 200 {
			w.set(n, runs(n, "agent"))
			pods = append(pods, podN(n))
		}
		p := start(t, w, nil)
		p.Set(pods)
		sleep(time.Minute)
		for n := 1; n < 200; n++ {
			w.set(n, hangs)
		}
		sleep(time.Minute)
		w.set(0, refuses)
		for state(p, 0).State != StateFailing {
			sleep(100 * time.Millisecond)
		}
		before := w.asks(0)
		sleep(2 * time.Second)
		if got := w.asks(0) - before; got != 1 {
			t.Errorf("it was asked %d times in 2 seconds", got)
		}
		sleep(20 * time.Second)
		if got := w.asks(0) - before; got != 1 {
			t.Errorf("a pod that goes on failing was asked %d times in 22 seconds", got)
		}
		w.set(0, runs(0, "agent"))
		for state(p, 0).State == StateFailing {
			sleep(100 * time.Millisecond)
		}
		w.set(0, refuses)
		for state(p, 0).State != StateFailing {
			sleep(100 * time.Millisecond)
		}
		w.set(0, runs(0, "agent"))
		sleep(2 * time.Second)
		if s := state(p, 0); s.State != StateGood {
			t.Errorf("%+v", s)
		}
	})
}
