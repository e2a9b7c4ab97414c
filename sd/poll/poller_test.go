package poll

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/sd/merge"
)

var errRefused = &Failure{ReasonConnect, errors.New("refused")}

// fakePods is a set of fake pods, by their number.
type fakePods struct {
	mu    sync.Mutex
	pods  map[int]func(ctx context.Context) (string, error)
	asked map[int][]time.Time
	// busy is how many polls run, and most how many ran at once.
	busy, most int

	reasons map[Reason]int
	rounds  int
	drops   map[merge.Reason]int
	log     bytes.Buffer
	logger  *slog.Logger
}

func newFakePods() *fakePods {
	w := &fakePods{pods: map[int]func(context.Context) (string, error){}, asked: map[int][]time.Time{},
		reasons: map[Reason]int{}, drops: map[merge.Reason]int{}}
	// All pollers of a test share one handler, because its lock guards the text.
	w.logger = slog.New(slog.NewTextHandler(&w.log, nil))
	return w
}

// Fetch implements Fetcher.
func (w *fakePods) Fetch(ctx context.Context, addr netip.AddrPort, into *bytes.Buffer) error {
	b := addr.Addr().As4()
	n := int(b[2])<<8 | int(b[3])
	w.mu.Lock()
	w.asked[n] = append(w.asked[n], time.Now())
	pod := w.pods[n]
	w.busy++
	w.most = max(w.most, w.busy)
	w.mu.Unlock()
	text, err := pod(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	into.WriteString(text)
	return err
}

// Polled implements Observer.
func (w *fakePods) Polled(_ time.Duration, failure Reason) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reasons[failure]++
}

// Dropped implements Observer.
func (w *fakePods) Dropped(reason merge.Reason, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drops[reason] += n
}

// Round implements Observer.
func (w *fakePods) Round() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rounds++
}

func (w *fakePods) set(n int, pod func(context.Context) (string, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pods[n] = pod
}

// asks returns how often a pod was polled.
func (w *fakePods) asks(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked[n])
}

// runs makes a pod answer with these integrations.
func runs(n int, integrations ...string) func(context.Context) (string, error) {
	groups := make([]string, len(integrations))
	for i, name := range integrations {
		groups[i] = fmt.Sprintf(`{"targets":[%q],"labels":{"__meta_agent_integration_name":%q}}`, address(n), name)
	}
	return says("[" + strings.Join(groups, ",") + "]")
}

func says(text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, nil }
}

func refuses(context.Context) (string, error) { return "", errRefused }

func hangs(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", transportFailure(ctx, ctx.Err())
}

func address(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 8080)
}

func podN(n int) Pod {
	return Pod{Owner: merge.Owner{Namespace: "ns", Name: "ga"}, Addr: address(n), Name: fmt.Sprint("pod-", n)}
}

// start runs a poller in the bubble of a test with synctest.
func start(t *testing.T, w *fakePods, change func(*Options)) *Poller {
	o := Options{
		Interval: 30 * time.Second, Timeout: 5 * time.Second, FirstTimeout: 2 * time.Second, Workers: 16,
		Scheme: "http",
		Limits: merge.DefaultLimits(), MaxDocument: 1 << 20, Fetcher: w, Observer: w, Log: w.logger,
	}
	if change != nil {
		change(&o)
	}
	p := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return p
}

// seen lists the targets of the document, as pod/integration.
func seen(t *testing.T, p *Poller) []string {
	t.Helper()
	d := p.Document()
	if d == nil {
		return nil
	}
	out := []string{}
	for _, s := range p.Status() {
		for name, n := range s.Published.Integrations() {
			out = append(out, strings.Repeat(fmt.Sprintf("%s/%s ", s.Name, name), n))
		}
	}
	if d.All().Targets() != len(out) {
		t.Errorf("the document has %d targets, the pods %v", d.All().Targets(), out)
	}
	slices.Sort(out)
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

func state(p *Poller, n int) Status {
	for _, s := range p.Status() {
		if s.Addr == address(n) {
			return s
		}
	}
	return Status{}
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestNothingIsServedBeforeEveryPodWasTriedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, runs(1, "agent"))
		w.set(2, hangs)
		w.set(3, refuses)
		p := start(t, w, nil)
		sleep(time.Hour)
		if p.Document() != nil {
			t.Fatal("a document although nobody said which pods there are")
		}
		p.Set([]Pod{podN(1), podN(2), podN(3)})
		sleep(1999 * time.Millisecond)
		if n, started := p.Waiting(); p.Document() != nil || n != 1 || !started {
			t.Fatalf("a document while one pod is out; waiting for %d", n)
		}
		sleep(2 * time.Millisecond)
		if diff := cmp.Diff([]string{"pod-1/agent"}, seen(t, p)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheFirstRoundDoesNotWaitForPodsThatWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, hangs)
		p := start(t, w, nil)
		p.Set([]Pod{podN(1)})
		sleep(time.Millisecond)
		p.Set(nil)
		synctest.Wait()
		if d := p.Document(); d == nil || d.All().Targets() != 0 {
			t.Error("not ready although no pod is left")
		}
	})
}

func TestNoPodsIsAnEmptyDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, newFakePods(), nil)
		p.Set(nil)
		synctest.Wait()
		if d := p.Document(); d == nil || d.All().Targets() != 0 {
			t.Error("not ready although there is no pod")
		}
	})
}

func TestAFailingPodKeepsItsLastGoodAnswer(t *testing.T) {
	for name, pod := range map[string]func(context.Context) (string, error){
		"refuses": refuses, "hangs": hangs, "cut short": says(`[{"targets":["10.0`), "null": says(`null`),
		"nothing":       says(``),
		"two documents": says(`[][]`), "too many groups": says("[" + strings.Repeat("{},", 5000) + "{}]"),
		"an error of another type": func(context.Context) (string, error) { return "", errors.New("odd") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakePods()
				w.set(1, runs(1, "agent", "redis"))
				p := start(t, w, nil)
				p.Set([]Pod{podN(1)})
				sleep(time.Second)
				w.set(1, pod)
				sleep(3 * time.Hour)
				s := state(p, 1)
				if s.State != StateFailing || s.Failure == nil || s.Failures < 20 {
					t.Errorf("%+v", s)
				}
				if diff := cmp.Diff([]string{"pod-1/agent", "pod-1/redis"}, seen(t, p)); diff != "" {
					t.Error(diff)
				}
				if n := strings.Count(w.log.String(), "pod does not answer"); n != 1 {
					t.Errorf("%d lines for one change:\n%s", n, w.log.String())
				}
				w.set(1, runs(1, "redis", "agent", "mysql"))
				sleep(6 * time.Minute)
				if diff := cmp.Diff([]string{"pod-1/agent", "pod-1/mysql", "pod-1/redis"}, seen(t, p)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestATargetIsDroppedAfterTwoAnswersWithoutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, runs(1, "agent", "redis"))
		p := start(t, w, nil)
		p.Set([]Pod{podN(1)})
		sleep(time.Second)
		step := func(want State, names ...string) {
			t.Helper()
			before := w.asks(1)
			for w.asks(1) == before {
				sleep(time.Second)
			}
			sleep(time.Second)
			if got := state(p, 1).State; got != want {
				t.Errorf("state %s, want %s", got, want)
			}
			if diff := cmp.Diff(names, seen(t, p)); diff != "" {
				t.Error(diff)
			}
		}
		w.set(1, runs(1, "agent"))
		step(StateGood, "pod-1/agent", "pod-1/redis")
		w.set(1, runs(1, "agent", "redis")) // It was restarting.
		step(StateGood, "pod-1/agent", "pod-1/redis")
		w.set(1, runs(1, "redis"))
		step(StateGood, "pod-1/agent", "pod-1/redis")
		w.set(1, refuses)
		step(StateFailing, "pod-1/agent", "pod-1/redis") // No good answer confirms it.
		w.set(1, runs(1, "redis"))
		step(StateGood, "pod-1/redis")
		w.set(1, runs(1))
		step(StateEmpty, "pod-1/redis")
		step(StateEmpty, []string{}...)
	})
}

func TestRemovedPodsAreForgottenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, runs(1, "agent"))
		w.set(2, runs(2, "agent"))
		p := start(t, w, nil)
		p.Set([]Pod{podN(1), podN(2)})
		sleep(time.Second)
		p.Set([]Pod{podN(2)})
		sleep(publishEvery)
		if diff := cmp.Diff([]string{"pod-2/agent"}, seen(t, p)); diff != "" {
			t.Error(diff)
		}
		again := podN(2)
		again.UID = "another pod, the same address"
		w.set(2, refuses)
		p.Set([]Pod{again})
		sleep(publishEvery)
		if got := seen(t, p); len(got) != 0 {
			t.Errorf("another pod inherited %v", got)
		}
	})
}

func TestAPodThatComesIsPolledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		p := start(t, w, nil)
		p.Set(nil)
		sleep(time.Minute)
		w.set(1, runs(1, "agent"))
		p.Set([]Pod{podN(1)})
		sleep(publishEvery)
		if diff := cmp.Diff([]string{"pod-1/agent"}, seen(t, p)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBackOffIsShortForPodsThatNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, refuses)
		p := start(t, w, nil)
		p.Set([]Pod{podN(1)})
		sleep(10 * time.Second)
		if n := w.asks(1); n != 4 { // at 0, 1, 3 and 7 s
			t.Errorf("asked %d times in 10 s", n)
		}
		sleep(time.Hour)
		if n := w.asks(1); n < 100 { // every 30 s
			t.Errorf("asked %d times in an hour", n)
		}
		sleep(time.Until(state(p, 1).Next) - 5*time.Second)
		ready := podN(1)
		ready.Ready = true
		before := w.asks(1)
		w.set(1, runs(1, "agent"))
		p.Set([]Pod{ready})
		sleep(publishEvery)
		if w.asks(1) != before+1 || len(seen(t, p)) != 1 {
			t.Error("not polled when it turned ready")
		}
	})
}

func TestBackOffIsLongForPodsThatAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, runs(1, "agent"))
		p := start(t, w, nil)
		p.Set([]Pod{podN(1)})
		sleep(time.Second)
		w.set(1, refuses)
		sleep(time.Hour)
		before := w.asks(1)
		sleep(time.Hour)
		if n := w.asks(1) - before; n < 10 || n > 14 { // every 5 minutes
			t.Errorf("asked %d times in an hour", n)
		}
	})
}

func TestTurningReadyDuringAPollIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, hangs)
		p := start(t, w, nil)
		p.Set([]Pod{podN(1)})
		sleep(time.Second)
		ready := podN(1)
		ready.Ready = true
		p.Set([]Pod{ready})
		w.set(1, runs(1, "agent"))
		sleep(time.Second + publishEvery)
		if len(seen(t, p)) != 1 {
			t.Error("not polled again at once")
		}
	})
}

func TestAHealthyPodIsPolledOncePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		var pods []Pod
		for n := range 200 {
			w.set(n, runs(n, "agent"))
			pods = append(pods, podN(n))
		}
		p := start(t, w, nil)
		p.Set(pods)
		sleep(time.Hour)
		before := map[int]int{}
		for n := range 200 {
			before[n] = w.asks(n)
		}
		sleep(10 * 30 * time.Second)
		for n := range 200 {
			if got := w.asks(n) - before[n]; got < 9 || got > 11 {
				t.Errorf("pod %d was polled %d times in 10 intervals", n, got)
			}
		}
	})
}

func TestPodsThatHangDoNotDelayTheOthers(t *testing.T) {
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
		for n := range 100 { // They begin to hang.
			w.set(n, hangs)
		}
		for n := 200; n < 300; n++ { // And others come that never answer.
			w.set(n, hangs)
			pods = append(pods, podN(n))
		}
		p.Set(pods)
		sleep(3 * time.Minute)
		for range 100 {
			sleep(time.Second)
			for _, s := range p.Status() {
				if age := time.Since(s.Good); s.Failures == 0 && age > 36*time.Second {
					t.Fatalf("%s was polled %s ago", s.Name, age)
				}
			}
		}
		if got := len(seen(t, p)); got != 200 {
			t.Errorf("%d targets left of 200", got)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.most > 16+2*16 {
			t.Errorf("%d polls at a time", w.most)
		}
	})
}

func TestAPodThatTurnsReadyDoesNotQueueBehindPodsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		var pods []Pod
		for n := range 300 {
			w.set(n, hangs)
			pods = append(pods, podN(n))
		}
		p := start(t, w, nil)
		p.Set(pods)
		sleep(5 * time.Minute)
		w.set(7, runs(7, "agent"))
		pods[7].Ready = true
		p.Set(pods)
		sleep(publishEvery)
		if len(seen(t, p)) != 1 {
			t.Error("it waits")
		}
	})
}

func TestTheDocumentHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, runs(1, "agent"))
		p := start(t, w, func(o *Options) { o.MaxDocument = 600 })
		p.Set([]Pod{podN(1)})
		sleep(time.Second)
		w.set(1, runs(1, "agent", "b", "c", "d", "e"))
		sleep(time.Minute)
		if s := state(p, 1); s.State != StateFailing || s.Failure.Reason != ReasonDocumentFull {
			t.Errorf("%+v", s)
		}
		if diff := cmp.Diff([]string{"pod-1/agent"}, seen(t, p)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDroppedGroupsAreCountedAtEachPollAndLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		w.set(1, says(`[{"targets":["169.254.169.254:80"]}]`))
		p := start(t, w, nil)
		p.Set([]Pod{podN(1)})
		sleep(10 * time.Minute)
		if s := state(p, 1); s.State != StateEmpty || len(s.Drops) != 1 {
			t.Errorf("%+v", s)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.drops[merge.ReasonForeignTarget] != len(w.asked[1]) || strings.Count(w.log.String(), "dropped") != 1 {
			t.Errorf("%v of %d polls\n%s", w.drops, len(w.asked[1]), w.log.String())
		}
	})
}

func TestReplicasWithTheSameAnswersServeTheSameBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakePods()
		var pods []Pod
		for n := range 50 {
			w.set(n, runs(n, "agent", "redis"))
			pods = append(pods, podN(n))
		}
		a, b := start(t, w, nil), start(t, w, nil)
		a.Set(pods)
		slices.Reverse(pods)
		b.Set(pods)
		sleep(time.Second)
		tag := a.Document().All().Tag()
		sleep(10 * time.Minute)
		if a.Document().All().Tag() != tag || b.Document().All().Tag() != tag {
			t.Error("the bytes changed, or differ")
		}
	})
}
