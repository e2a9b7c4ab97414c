package poll

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/sd/merge"
)

func TestARoundEndsWhenEachPodThatAnswersWasPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		p := start(t, w, nil)
		p.Set(nil)
		sleep(time.Hour)
		rounds := func(atLeast, atMost int) {
			t.Helper()
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.rounds < atLeast || w.rounds > atMost {
				t.Errorf("%d rounds, not %d to %d", w.rounds, atLeast, atMost)
			}
			w.rounds = 0
		}
		rounds(0, 0)
		var pods []Pod
		for n := range 20 {
			w.set(n, runs(n, "agent"))
			pods = append(pods, podN(n))
		}
		p.Set(pods)
		sleep(5 * time.Minute)
		rounds(8, 11) // 10, and the longest wait counts.
		w.set(1, hangs)
		w.set(2, refuses)
		sleep(5 * time.Minute)
		rounds(7, 11) // One lasts for the timeout; later they are not waited for.
		for n := range 20 {
			w.set(n, refuses)
		}
		sleep(time.Minute)
		rounds(0, 3)
		sleep(time.Hour)
		rounds(0, 0)
		w.set(3, runs(3, "agent"))
		sleep(15 * time.Minute)
		rounds(8, 30)
	})
}

// fragment is the answer of a pod that runs an integration.
func fragment(t *testing.T, n int, integrations ...string) *merge.Fragment {
	t.Helper()
	text, _ := runs(n, integrations...)(t.Context())
	f, _, err := merge.Parse([]byte(text), merge.Source{Owner: podN(n).Owner, Addr: address(n), Scheme: "http"},
		merge.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAnswersOfSilentPodsComeFromPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, runs(1, "agent"))
		for n := 2; n <= 5; n++ {
			w.set(n, refuses)
		}
		var asked []string
		p := start(t, w, func(o *Options) {
			o.Recall = func(_ context.Context, pods []Pod) []*merge.Fragment {
				out := make([]*merge.Fragment, len(pods))
				for i, pod := range pods {
					asked = append(asked, pod.Name)
					switch pod.Name {
					case "pod-2":
						out[i] = fragment(t, 2, "agent", "redis")
					case "pod-3":
						out[i] = fragment(t, 3, "agent")
					case "pod-5":
						out[i] = fragment(t, 5, "agent")
					}
				}
				w.set(5, runs(5, "mysql"))
				time.Sleep(3 * time.Second)
				return out
			}
		})
		p.Set([]Pod{podN(1), podN(2), podN(3), podN(4), podN(5)})
		sleep(time.Second)
		if p.Document() != nil {
			t.Error("a document although it is still asked for the rest")
		}
		p.Set([]Pod{podN(1), podN(2), podN(4), podN(5)})
		sleep(3 * time.Second)
		// Pod 3 is gone, nobody knows pod 4, and pod 5 answered in the meantime.
		if diff := cmp.Diff([]string{"pod-1/agent", "pod-2/agent", "pod-2/redis", "pod-5/mysql"}, seen(t, p)); diff !=
			"" {
			t.Error(diff)
		}
		if s := state(p, 2); s.State != StateFailing || !s.Good.IsZero() {
			t.Errorf("%+v", s)
		}
		w.set(2, runs(2, "redis"))
		for before := w.asks(2); w.asks(2) == before; {
			sleep(publishEvery)
		}
		sleep(publishEvery)
		if diff := cmp.Diff([]string{"pod-1/agent", "pod-2/agent", "pod-2/redis", "pod-5/mysql"}, seen(t, p)); diff !=
			"" {
			t.Error("what vanished stays for one more answer:", diff)
		}
		sleep(time.Minute)
		if diff := cmp.Diff([]string{"pod-1/agent", "pod-2/redis", "pod-5/mysql"}, seen(t, p)); diff != "" {
			t.Error(diff)
		}
		if len(asked) != 4 {
			t.Errorf("asked for %v", asked)
		}
	})
}

func TestPeersAreNotAskedIfAllPodsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, runs(1, "agent"))
		p := start(t, w, func(o *Options) {
			o.Recall = func(context.Context, []Pod) []*merge.Fragment {
				t.Error("asked")
				return nil
			}
		})
		p.Set([]Pod{podN(1)})
		sleep(time.Second)
		w.set(1, refuses)
		w.set(2, refuses)
		p.Set([]Pod{podN(1), podN(2)}) // After the first round nobody is asked either.
		sleep(time.Hour)
		if diff := cmp.Diff([]string{"pod-1/agent"}, seen(t, p)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnswersFromPeersCountForTheDocumentLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, runs(1, "agent"))
		w.set(2, refuses)
		p := start(t, w, func(o *Options) {
			o.MaxDocument = 600
			o.Recall = func(context.Context, []Pod) []*merge.Fragment {
				return []*merge.Fragment{fragment(t, 2, "a", "b", "c", "d")}
			}
		})
		p.Set([]Pod{podN(1), podN(2)})
		sleep(time.Second)
		if diff := cmp.Diff([]string{"pod-1/agent"}, seen(t, p)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAReplicaThatEndsDoesNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, refuses)
		p := start(t, w, func(o *Options) {
			o.Recall = func(ctx context.Context, pods []Pod) []*merge.Fragment {
				<-ctx.Done()
				return make([]*merge.Fragment, len(pods))
			}
		})
		p.Set([]Pod{podN(1)})
		sleep(time.Hour)
		if n, started := p.Waiting(); p.Document() != nil || n != 0 || !started {
			t.Error(fmt.Sprint(n, started))
		}
	})
}
