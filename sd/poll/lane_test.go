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

// TestPodsThatAnswerSlowlyDoNotStarveTheOthers has more of them than there are workers for.
func TestPodsThatAnswerSlowlyDoNotStarveTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
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
