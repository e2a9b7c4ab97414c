package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

var errNoAnswer = fmt.Errorf("%w: no route to host", transport.ErrUnreachable)

func TestARemoteThatIsDownStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.break_(urlB, errNoAnswer)
		w.run(def("x", urlA), def("y", urlB))
		after(time.Hour)
		same(t, "ready", w.ready("x"), "True Succeeded")
		same(t, "ready", w.ready("y"), "False Failed")
		same(t, "passes", w.passesOf("y"), seconds())
		if s, _ := w.fleet.Pipeline("y"); s.NextPass == nil || time.Until(s.NextPass.Time) <= 0 ||
			time.Until(s.NextPass.Time) > maxBackoff {
			t.Errorf("the next pass is said to be at %v", s.NextPass)
		}
		// 0, 1, 3, 7 ... 255 s, then every 5 minutes.
		if n := len(w.listed(urlB)); n != 9+(3600-255)/300 {
			t.Errorf("%d listings in an hour", n)
		}
		w.break_(urlB, nil)
		after(5 * time.Minute)
		same(t, "ready", w.ready("y"), "True Succeeded")
		for _, line := range []string{
			`level=WARN msg="remote cannot be reached" remote=https://git.example.com/b pipelines=1`,
			`level=INFO msg="remote can be reached again" remote=https://git.example.com/b pipelines=1`,
			`level=WARN msg="pipeline is not ready" pipeline=y reason=Failed`,
			`level=INFO msg="pipeline is ready" pipeline=y reason=Succeeded`,
		} {
			if n := strings.Count(w.log.String(), line); n != 1 {
				t.Errorf("%d times in the log: %s", n, line)
			}
		}
	})
}

func TestAShortOutageIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA))
		after(59 * time.Second)
		told := len(w.heard())
		w.break_(urlA, errNoAnswer)
		after(3 * time.Second) // two rounds fail
		w.break_(urlA, nil)
		after(time.Minute)
		same(t, "told", len(w.heard()), told)
		if strings.Contains(w.log.String(), "WARN") {
			t.Error(w.log.String())
		}
	})
}

func TestARefusedCredentialIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.break_(urlA, transport.ErrAuth)
		w.run(def("x", urlA))
		same(t, "ready", w.ready("x"), "False Failed Stalled")
	})
}

func TestATriggerAsksARemoteThatIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.break_(urlA, errNoAnswer)
		w.run(def("x", urlA))
		after(time.Hour + 20*time.Second)
		w.break_(urlA, nil)
		w.fleet.Trigger(Trigger{Repository: "git.example.com/a"})
		synctest.Wait()
		same(t, "ready", w.ready("x"), "True Succeeded")
	})
}

func TestAnUnreachableSourceIsReportedAndDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.break_(urlB, errNoAnswer)
		w.run(def("x", urlA, urlB))
		same(t, "passes", w.passesOf("x"), seconds(0))
		after(90 * time.Second)
		w.push(urlA, "2")
		after(time.Minute)
		same(t, "passes", w.passesOf("x"), seconds(0, 120))
		same(t, "ready", w.ready("x"), "False Failed")
		w.break_(urlB, nil)
		after(6 * time.Minute)
		if n := len(w.passesOf("x")); n != 3 {
			t.Errorf("%d passes: one is due when the source is back", n)
		}
		same(t, "ready", w.ready("x"), "True Succeeded")

		w.break_(urlB, errNoAnswer)
		after(2 * time.Minute)
		w.push(urlA, "3")
		after(2 * time.Minute)
		same(t, "passes while it is down again", len(w.passesOf("x")), 4)
		w.break_(urlB, nil)
		after(6 * time.Minute)
		same(t, "passes when it is back as it was", len(w.passesOf("x")), 5)
	})
}

func TestAnOutputThatIsDownIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA).with(output(urlO)))
		after(30 * time.Second)
		w.break_(urlO, errNoAnswer)
		after(time.Minute)
		w.push(urlA, "2")
		after(10 * time.Minute)
		same(t, "passes while it is down", w.passesOf("x"), seconds(0))
		same(t, "ready", w.ready("x"), "False Failed")
		w.break_(urlO, nil)
		after(5 * time.Minute)
		if n := len(w.passesOf("x")); n != 2 {
			t.Errorf("%d passes", n)
		}
		same(t, "ready", w.ready("x"), "True Succeeded")
	})
}

func TestASilentRemoteStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, func(o *Options) { o.Workers = 1 })
		w.silent[normalURL(urlB)] = true // nothing runs yet
		w.run(def("x", urlA), def("y", urlB), def("z", urlA, urlB))
		same(t, "passes of x", w.passesOf("x"), seconds(0))
		after(10 * time.Minute)
		same(t, "z goes on without its silent source", w.passesOf("z"), seconds(600))
		w.push(urlA, "2")
		after(2 * time.Minute)
		if len(w.passesOf("x")) != 2 || len(w.passesOf("z")) != 2 {
			t.Errorf("%v %v", w.passesOf("x"), w.passesOf("z"))
		}
		same(t, "ready", w.ready("y"), "Unknown Progressing")
	})
}

func TestAMissingRefFailsOnlyThePipelinesThatReadIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		bad := def("bad", urlA).with(func(s *pipeline.Spec) { s.Sources[0].Ref = pipeline.Ref{SemVer: "bad"} })
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			if p.def.Metadata.Name == "bad" {
				return nil, errors.New("parse the range")
			}
			return nil, nil
		}
		w.run(def("x", urlA), bad)
		same(t, "ready", w.ready("x"), "True Succeeded")
		same(t, "ready", w.ready("bad"), "False Failed")
	})
}

func TestAPanicEndsOnePassAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			if p.def.Metadata.Name == "x" && w.tip(urlA, "main") == hash("bad") {
				panic("the password is hunter2")
			}
			return nil, nil
		}
		w.push(urlA, "bad")
		w.run(def("x", urlA), def("y", urlA))
		same(t, "ready", w.ready("x"), "False Failed Stalled")
		same(t, "ready", w.ready("y"), "True Succeeded")
		w.push(urlA, "good")
		after(time.Minute)
		if n := read(w, func() int { return w.opened }); n < 3 {
			t.Errorf("%d instances: what panicked goes on", n)
		}
		same(t, "ready", w.ready("x"), "True Succeeded")
		if log := w.log.String(); strings.Contains(log, "hunter2") ||
			!strings.Contains(log, `msg=panic during=pass of=x value=string`) {
			t.Error(log)
		}
	})
}

func TestCredentialsThatCannotBeReadStopOnePipelineUntilTheyCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		var missing error
		lack := func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			missing = err
		}
		d := def("x", urlA)
		readable := d.Credentials
		d.Credentials = func() (gitsync.Credentials, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if missing != nil {
				return gitsync.Credentials{}, missing
			}
			return readable()
		}
		lack(errors.New("open token: no such file"))
		w.run(d, def("y", urlA))
		same(t, "x at the start", w.ready("x"), "False Failed Stalled")
		same(t, "y", w.ready("y"), "True Succeeded")
		s, _ := w.fleet.Pipeline("x")
		same(t, "message", s.Condition("Ready").Message, "credentials: open token: no such file")
		lack(nil)
		after(time.Minute + 2*time.Second)
		same(t, "x with credentials", w.ready("x"), "True Succeeded")

		lack(errors.New("open token: no such file"))
		w.push(urlA, "2")
		after(time.Minute)
		same(t, "x after they have vanished", w.ready("x"), "False Failed Stalled")
		if len(w.passesOf("x")) != 1 {
			t.Errorf("passes without credentials: %v", w.passesOf("x"))
		}
		lack(nil)
		after(time.Minute)
		same(t, "x with credentials again", w.ready("x"), "True Succeeded")
		if len(w.passesOf("x")) != 2 {
			t.Errorf("passes: %v", w.passesOf("x"))
		}
	})
}

func TestAPassWaitsForCredentialsThatAreBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		d := def("x", urlA)
		readable := d.Credentials
		d.Credentials = func() (gitsync.Credentials, error) {
			time.Sleep(5 * time.Second)
			return readable()
		}
		w.run(d, def("y", urlB))
		after(10 * time.Second)
		same(t, "passes", w.passesOf("x"), seconds(10))
		after(20 * time.Second)
		w.push(urlA, "2")
		w.fleet.Trigger(Trigger{Repository: "git.example.com/a"})
		after(6 * time.Second)
		w.fleet.Trigger(Trigger{Pipeline: "x"})
		after(time.Second)
		w.fleet.Set(nil, nil)
		after(time.Minute)
		same(t, "remotes", len(w.fleet.Remotes()), 0)
	})
}

func TestWorkersAndWritersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, func(o *Options) { o.Workers = 3 })
		w.takes = time.Second
		var defs []Definition
		for i := range 30 {
			defs = append(defs, def(fmt.Sprintf("p%02d", i), urlA))
		}
		w.run(defs...)
		after(time.Minute)
		same(t, "at once in the gate", read(w, func() int { return w.peak }), 3)
		same(t, "passes", w.count(), 30)
	})
}

func TestAPushToASlowRemoteHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, func(o *Options) { o.Workers = 1 })
		pushing := 0
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			if p.def.Metadata.Name == "other" {
				return nil, nil
			}
			if err := p.render(context.Background(), time.Millisecond); err != nil {
				return nil, err
			}
			w.mu.Lock()
			pushing++
			w.mu.Unlock()
			time.Sleep(time.Hour) // the push
			w.mu.Lock()
			pushing--
			w.mu.Unlock()
			return nil, errNoAnswer
		}
		defs := []Definition{def("other", urlB)}
		for i := range 3 * maxPushesPerRemote {
			defs = append(defs, def(fmt.Sprintf("p%02d", i), urlA))
		}
		w.run(defs...)
		after(time.Minute)
		same(t, "pushes at once", read(w, func() int { return pushing }), maxPushesPerRemote)
		w.push(urlB, "2")
		after(time.Minute)
		if len(w.passesOf("other")) != 2 {
			t.Errorf("%v", w.passesOf("other"))
		}
		w.mu.Lock()
		w.during = nil
		w.mu.Unlock()
		after(5 * time.Hour)
	})
}

// TestNamesOutliveWhatIsEvicted: a search finds what was rendered, also when the render is not kept any more. Names
// that alone are too many are evicted too. Here they take 50 bytes for each pipeline.
func TestNamesOutliveWhatIsEvicted(t *testing.T) {
	for limit, want := range map[int64]int{2<<20 + 200: 2, 1 << 20: 2, 200: 2, 199: 1, 99: 0} {
		synctest.Test(t, func(t *testing.T) {
			w := newTestbed(t, func(o *Options) { o.MemoryBytes = limit })
			r := manifest.Parse(manifest.File{Path: "a.yaml",
				Data: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\n")},
				manifest.Options{})
			render := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
			w.size, w.explained = 1<<20, &render
			w.run(def("x", urlA), def("y", urlB))
			renders, found := 0, 0
			for _, name := range []string{"x", "y"} {
				if w.fleet.pipelines[name].instance.explained.Load() != nil {
					renders++
				}
				if index, _ := w.fleet.Index(name); index != nil {
					found += index.Search("login", 1).Total
				}
			}
			if found != want || renders > int(limit>>20) {
				t.Errorf("with %d bytes, %d renders are kept, and names of %d", limit, renders, found)
			}
			if kept := w.fleet.MemoryBytes(); kept > limit {
				t.Errorf("%d bytes are kept of %d", kept, limit)
			}
		})
	}
}

func TestLeastRecentlyUsedPipelinesAreEvictedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, func(o *Options) { o.MemoryBytes = 250 })
		w.size = 100
		forgot := func() []string { return read(w, func() []string { return slices.Clone(w.forgot) }) }
		w.run(def("x", urlA), def("y", urlB), def("z", urlO))
		same(t, "kept", w.fleet.MemoryBytes(), int64(200))
		same(t, "forgot", len(forgot()), 1)
		first := forgot()[0]
		after(10 * time.Second) // no round is due: a pipeline whose credentials a round renews is not evicted
		same(t, "reached", w.fleet.Trigger(Trigger{Pipeline: first}), 1)
		after(10 * time.Second)
		same(t, "kept", w.fleet.MemoryBytes(), int64(200))
		if now := forgot(); len(now) != 2 || now[1] == first {
			t.Errorf("forgot %v, of which the first has passed since", now)
		}
	})
}

// TestARenderThatIsNotKeptIsMadeAgain: those who ask for it at the same time wait for one pass, and not for ever.
func TestARenderThatIsNotKeptIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, func(o *Options) { o.MemoryBytes = 1 }) // nothing is kept
		w.size, w.explained = 1<<20, &explain.Render{}
		ask := func(name string) (*explain.Render, bool, time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			began := time.Now()
			render, ok := w.fleet.Explained(ctx, name)
			return render, ok, time.Since(began)
		}
		w.run(def("x", urlA), def("y", urlB))
		before := w.count()
		var asking sync.WaitGroup
		for range 3 {
			asking.Go(func() {
				if render, ok, _ := ask("x"); render == nil || !ok {
					t.Errorf("%v %t", render, ok)
				}
			})
		}
		asking.Wait()
		same(t, "passes for three questions", w.count()-before, 1)
		w.mu.Lock()
		w.during = func(*fakePasser) (*gitsync.Report, error) {
			time.Sleep(time.Minute)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.during = nil
			return nil, errors.New("late")
		}
		w.mu.Unlock()
		if render, ok, took := ask("y"); render != nil || !ok || took != 10*time.Second {
			t.Errorf("a pass that takes long: %v %t after %s", render, ok, took)
		}
		after(50 * time.Second)
		same(t, "questions", w.fleet.pipelines["y"].asked, (*question)(nil))
		before = w.count()
		if render, ok, took := ask("y"); render != nil || !ok || took != 0 || w.count() != before {
			t.Errorf("a pipeline that fails: %v %t after %s", render, ok, took)
		}
		if render, ok, took := ask("z"); render != nil || ok || took != 0 {
			t.Errorf("a pipeline that is not: %v %t after %s", render, ok, took)
		}
	})
}
