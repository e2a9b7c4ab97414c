package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

func suspended(s *pipeline.Spec) { s.Suspend = true }

func TestSetStartsStopsAndRestartsJustWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("same", urlA), def("changed", urlA), def("gone", urlA))
		after(10 * time.Second)
		problems := diag.List{{Code: diag.PipelineInvalid, Message: "bad file"}}
		w.fleet.Set([]Definition{def("new", urlA), def("same", urlA), def("changed", urlA).with(func(s *pipeline.Spec) {
			s.Output.Path = "deep"
		})}, problems)
		after(time.Second)
		same(t, "same", w.passesOf("same"), seconds(0))
		same(t, "changed", w.passesOf("changed"), seconds(0, 10))
		same(t, "new", w.passesOf("new"), seconds(10))
		same(t, "gone", w.ready("gone"), "none")
		same(t, "problems", w.fleet.Problems(), problems)
		var names []string
		for _, s := range w.fleet.Status() {
			names = append(names, s.Name)
		}
		same(t, "order", names, []string{"new", "same", "changed"})
		removed := 0
		for _, o := range w.heard() {
			if o.Removed {
				same(t, "removed", o.Definition.Metadata.Name, "gone")
				removed++
			}
		}
		same(t, "told of removals", removed, 1)
	})
}

func TestAReloadOfTheSameIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA))
		for range 10 {
			after(time.Second)
			w.fleet.Set([]Definition{def("x", urlA)}, nil)
		}
		same(t, "passes", w.passesOf("x"), seconds(0))
		same(t, "listings", len(w.listed(urlA)), 1)
	})
}

func TestAReloadDuringAPassWaitsForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.takes = 20 * time.Second
		w.run(def("x", urlA))
		after(5 * time.Second)
		w.fleet.Set([]Definition{def("x", urlB)}, nil)
		after(5 * time.Second)
		w.fleet.Set([]Definition{def("x", urlO)}, nil)
		after(time.Minute)
		same(t, "passes", w.passesOf("x"), seconds(0, 20))
		s, _ := w.fleet.Pipeline("x")
		same(t, "source", s.Sources[0].URL, normalURL(urlO))
		same(t, "ready", w.ready("x"), "True Succeeded")
	})
}

// TestAReloadKeepsTheTriggerThatSomebodyWaitsFor: before its pass, and during it.
func TestAReloadKeepsTheTriggerThatSomebodyWaitsFor(t *testing.T) {
	for name, wait := range map[string]time.Duration{"before the pass": 0, "during the pass": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestbed(t)
				w.run(def("x", urlA))
				after(10 * time.Second)
				w.takes = 20 * time.Second
				w.fleet.Trigger(Trigger{Pipeline: "x", Token: "t"})
				time.Sleep(wait)
				w.fleet.Set([]Definition{def("x", urlB)}, nil)
				after(15 * time.Second)
				s, _ := w.fleet.Pipeline("x")
				same(t, "the token waits for the pass of what is now", s.LastHandledReconcileAt, "")
				after(time.Minute)
				s, _ = w.fleet.Pipeline("x")
				same(t, "token", s.LastHandledReconcileAt, "t")
				same(t, "ready", w.ready("x"), "True Succeeded")
			})
		})
	}
}

func TestAReloadWhileAPipelineIsBeingOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		slow := def("x", urlA)
		credentials := slow.Credentials
		slow.Credentials = func() (gitsync.Credentials, error) {
			time.Sleep(5 * time.Second)
			return credentials()
		}
		w.run(slow)
		w.fleet.Set([]Definition{def("x", urlB)}, nil)
		after(30 * time.Second)
		same(t, "passes", len(w.passesOf("x")), 1)
		s, _ := w.fleet.Pipeline("x")
		same(t, "source that was passed on", s.Sources[0].URL, normalURL(urlB))
		same(t, "listings of the old one", len(w.listed(urlA)), 0)
	})
}

func TestARestoredPipelineWaitsForItsRunningPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.takes = 20 * time.Second
		w.run(def("x", urlA))
		after(5 * time.Second)
		w.fleet.Set(nil, nil)
		after(5 * time.Second)
		same(t, "while its last pass ends", w.ready("x"), "none")
		w.fleet.Set([]Definition{def("x", urlA)}, nil)
		after(time.Minute)
		same(t, "passes", w.passesOf("x"), seconds(0, 20))
		w.fleet.Set(nil, nil)
		after(time.Minute)
		heard := w.heard()
		last := heard[len(heard)-1]
		same(t, "removed", last.Removed, true)
		same(t, "remotes", len(w.fleet.Remotes()), 0)
	})
}

func TestSuspendStopsAndResumePassesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA))
		after(10 * time.Second)
		w.fleet.Set([]Definition{def("x", urlA).with(suspended)}, nil)
		w.push(urlA, "2")
		after(10 * time.Minute)
		same(t, "passes", w.passesOf("x"), seconds(0))
		same(t, "listings", len(w.listed(urlA)), 1)
		same(t, "ready", w.ready("x"), "Unknown Suspended")
		same(t, "reached", w.fleet.Trigger(Trigger{Pipeline: "x"}), 0)
		w.fleet.Set([]Definition{def("x", urlA)}, nil)
		synctest.Wait()
		same(t, "passes", w.passesOf("x"), seconds(0, 610))
		same(t, "ready", w.ready("x"), "True Succeeded")
	})
}

func TestOfTwoDefinitionsOfOnePlaceTheFirstRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		twin := def("twin", urlA).with(func(s *pipeline.Spec) { s.Output.Branch = "env/x" })
		inside := def("inside", urlA).with(func(s *pipeline.Spec) { s.Output.Branch = "env/y"; s.Output.Path = "deep" })
		w.run(def("x", urlA), twin, def("y", urlA), inside, def("x", urlB))
		same(t, "x", w.ready("x"), "True Succeeded")
		same(t, "twin", w.ready("twin"), "False Failed Stalled")
		same(t, "inside", w.ready("inside"), "False Failed Stalled")
		s, _ := w.fleet.Pipeline("twin")
		same(t, "message", s.Condition("Stalled").Message,
			"writes to the same place as pipeline x of x.yaml:1, which comes first and runs")
		same(t, "problems", w.fleet.Problems(), diag.List{{
			Severity: diag.Error, Code: diag.PipelineConflict, File: "x.yaml:1",
			Message: "pipeline x is defined by x.yaml:1 already, which runs",
		}})
		w.fleet.Set([]Definition{twin}, nil)
		synctest.Wait()
		after(2 * time.Second)
		same(t, "twin alone", w.ready("twin"), "True Succeeded")
	})
}

func TestAPassiveFleetOnlyListsFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, func(o *Options) { o.Passive = true })
		w.takes = 5 * time.Second
		w.list("each", "eu")
		w.run(def("x", urlA), forEach("each", urlB, func(*pipeline.Spec) {}))
		after(10 * time.Second)
		same(t, "x is another's", w.ready("x"), "Unknown Elsewhere")
		same(t, "so is what the pattern makes", w.ready("eu"), "Unknown Elsewhere")
		same(t, "triggers reach the pattern only", w.fleet.Trigger(Trigger{}), 1)
		same(t, "passes", len(w.passesOf("x"))+len(w.passesOf("eu")), 0)

		w.fleet.SetActive(true)
		after(2 * time.Second)
		same(t, "x passes at once", w.passesOf("x"), seconds(10))
		w.fleet.SetActive(false)
		synctest.Wait()
		same(t, "x is another's again", w.ready("x"), "Unknown Elsewhere")
		w.push(urlA, "2")
		after(10 * time.Minute)
		same(t, "x ended its pass and made no other", w.passesOf("x"), seconds(10))
		if w.tip(urlA, "env/x").IsZero() {
			t.Error("the pass that was under way has not pushed")
		}
		w.fleet.SetActive(true)
		after(10 * time.Second)
		same(t, "ready", w.ready("x"), "True Succeeded")
		same(t, "passes of x", len(w.passesOf("x")), 2)
		same(t, "passes of eu", len(w.passesOf("eu")), 2)
	})
}

func TestAStopWaitsForPassesAndCutsOffTheSlow(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		fails bool
	}{
		"a pass within the grace": {takes: 10 * time.Second},
		"a pass beyond it":        {takes: time.Hour, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestbed(t)
				w.takes = test.takes
				w.run(def("x", urlA))
				after(time.Second)
				if err := w.end(); (err != nil) != test.fails {
					t.Error(err)
				}
				if took := time.Since(w.began); took > time.Second+defaultGrace {
					t.Errorf("took %s", took)
				}
				pushed := !w.tip(urlA, "env/x").IsZero()
				same(t, "pushed", pushed, !test.fails)
				same(t, "open", read(w, func() int { return w.open }), 0)
				w.fleet.Set([]Definition{def("y", urlA)}, nil)
				same(t, "what comes too late does nothing", w.count(), 1)
			})
		})
	}
}

func TestForEachFollowsTheFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.list("each", "eu us")
		each := forEach("each", urlA, func(s *pipeline.Spec) {})
		w.run(each)
		after(time.Second)
		same(t, "each", w.ready("each"), "True Succeeded")
		s, _ := w.fleet.Pipeline("each")
		same(t, "pipelines", s.Pipelines, []string{"eu", "us"})
		after(10 * time.Second)
		same(t, "eu", w.ready("eu"), "True Succeeded")
		passes := len(w.passesOf("eu"))

		w.list("each", "asia eu")
		w.push(urlA, "2")
		after(time.Minute)
		same(t, "us", w.ready("us"), "none")
		same(t, "asia", w.ready("asia"), "True Succeeded")
		same(t, "eu goes on", len(w.passesOf("eu")), passes+1)

		w.list("each", "!")
		w.push(urlA, "3")
		after(time.Minute)
		same(t, "each", w.ready("each"), "False Failed")
		same(t, "eu is not taken for gone", w.ready("eu"), "True Succeeded")

		w.fleet.Set([]Definition{forEach("each", urlA, func(s *pipeline.Spec) {}).with(suspended)}, nil)
		synctest.Wait()
		same(t, "eu with its pattern suspended", w.ready("eu"), "Unknown Suspended")
		w.fleet.Set(nil, nil)
		synctest.Wait()
		same(t, "eu without its pattern", w.ready("eu"), "none")
		same(t, "status", len(w.fleet.Status()), 0)
	})
}

func TestForEachOfWhichTwoWriteToOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.list("each", "eu us")
		w.run(forEach("each", urlA, func(s *pipeline.Spec) { s.Output.Branch = "env" }))
		after(10 * time.Second)
		same(t, "eu", w.ready("eu"), "True Succeeded")
		same(t, "us", w.ready("us"), "False Failed Stalled")
	})
}

func TestARolloutOfAPatternHoldsBackWhatItMakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.list("each", "eu us")
		w.run(forEach("each", urlA, func(s *pipeline.Spec) {
			s.Rollout.After = []string{"nobody"}
		}).with(afterThose("nobody")))
		after(10 * time.Second)
		same(t, "each", w.ready("each"), "True Succeeded")
		same(t, "eu", w.ready("eu"), "False DependencyNotReady")
	})
}

func TestObserversHearOfEveryPassAndChangeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, func(o *Options) { o.Observers = append(o.Observers, panicking{}) })
		w.run(def("x", urlA))
		after(30 * time.Second)
		w.break_(urlA, errNoAnswer)
		after(10 * time.Minute)
		w.break_(urlA, nil)
		after(10 * time.Minute)
		w.push(urlA, "2")
		after(10 * time.Minute)
		var got []string
		before := ""
		for _, o := range w.heard() {
			same(t, "before is the state after the one before", o.Before.state(), before)
			before = o.After.state()
			kind := "state"
			if o.IsPass() {
				kind = "pass by " + o.Trigger
			}
			got = append(got, kind+": "+before)
		}
		same(t, "outcomes", got, []string{
			"pass by start: Ready=True Succeeded ",
			"state: Ready=False Failed ",
			"state: Ready=True Succeeded ",
			"pass by poll: Ready=True Succeeded ",
		})
	})
}

type panicking struct{}

func (panicking) Passed(context.Context, Outcome) { panic("observer") }
