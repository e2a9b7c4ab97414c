package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// testbed is a store that records its calls.
type testbed struct {
	*Store
	took []time.Duration
	told []string
}

func newTestbed() *testbed {
	w := &testbed{}
	w.Store = New(Options{
		Applied: func(_ string, since time.Duration) { w.took = append(w.took, since) },
		Changed: func(c Change) {
			w.told = append(w.told, fmt.Sprintf("%s %.2s: %s", c.Definition.Metadata.Name, c.Inputs[0],
				c.Status.Summary()))
		},
		Log: slog.New(slog.DiscardHandler),
	})
	return w
}

// id returns a commit id that begins with a digit and a number.
func id(digit string, n int) string { return fmt.Sprintf("%s%039d", digit, n) }

// outcome is a pass of a pipeline that finds its branch at a commit; that pushed it if input is not 0.
func outcome(name, at string, tip string, input int, units ...string) fleet.Outcome {
	d := &fleet.Definition{}
	d.Metadata.Name = name
	d.Spec.Output = pipeline.Output{URL: "https://" + shop + ".git", Branch: "environments/prod", Path: at}
	out := fleet.Outcome{Definition: d, Began: time.Now()}
	out.After = fleet.Status{Name: name, Owned: true, Output: &gitsync.OutputStatus{Commit: tip},
		Sources: []gitsync.SourceStatus{{Commit: id("a", input)}}}
	out.Report = &gitsync.Report{}
	if input != 0 {
		out.Report.Commit = tip
	}
	for _, name := range units {
		u := gitsync.UnitStatus{Name: name, State: plan.UnitChanged}
		out.After.Units = append(out.After.Units, fleet.UnitStatus{UnitStatus: u})
		if input != 0 {
			out.Report.Units = append(out.Report.Units, u)
		}
	}
	return out
}

// pushed lets the pipeline prod push its nth commit.
func (w *testbed) pushed(n int, units ...string) {
	w.Passed(context.Background(), outcome("prod", "", id("c", n), n, units...))
}

// from is a report of Flux in a cluster about the nth commit of prod.
func from(cluster string, n int, state State) Report {
	r := Report{Cluster: cluster, Reconciler: "Kustomization/flux-system/monitoring", Pipeline: "prod",
		Commit: id("c", n), State: state, Sent: time.Now().Truncate(time.Second)}
	if state == Failed {
		r.Message = "it is broken"
	}
	return r
}

func (w *testbed) states(t *testing.T, n int) (out []string) {
	t.Helper()
	s, ok := w.Commit("prod", id("c", n))
	if !ok {
		return nil
	}
	for _, r := range s.Rows {
		out = append(out, strings.TrimSpace(r.Cluster+" "+string(r.State)+" "+r.Message))
	}
	return out
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s -want +got:\n%s", what, diff)
	}
}

// TestFromCommitToCluster is the story of two commits and two clusters.
func TestFromCommitToCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed()
		w.Passed(t.Context(), outcome("prod", "", id("c", 0), 0))
		if _, ok := w.Status("prod"); ok {
			t.Error("something is known before anybody has reported")
		}
		w.Record(from("eu", 0, Healthy)) // of the process before this one, so its duration is unknown
		w.Record(from("us", 0, Applied))
		same(t, "rows", []string{"eu healthy", "us applied"}, w.states(t, 0))

		w.pushed(1, "ns/one", "ns/two")
		same(t, "rows", []string{"eu pushed", "us pushed"}, w.states(t, 1))
		same(t, "unapplied units", map[string]int{"prod": 2}, w.Unapplied())
		time.Sleep(3 * time.Second)
		w.Record(from("eu", 1, Applied))
		time.Sleep(2 * time.Second)
		w.Record(from("eu", 1, Healthy))
		w.Record(from("us", 1, Failed))
		same(t, "rows", []string{"eu healthy", "us failed it is broken"}, w.states(t, 1))
		same(t, "unapplied units", map[string]int{"prod": 2}, w.Unapplied())
		s, _ := w.Status("prod")
		same(t, "counts", []int{2, 1, 1, 1, 2}, []int{s.Clusters, s.Applied, s.Healthy, s.Failed, s.UnappliedUnits})
		if r := s.Rows[0]; r.AppliedAfter.Duration != 3*time.Second || r.HealthyAfter.Duration != 5*time.Second {
			t.Errorf("applied after %v, healthy after %v", r.AppliedAfter, r.HealthyAfter)
		}
		same(t, "what us runs", id("c", 0), s.Rows[1].Current)

		w.pushed(2, "ns/two")
		time.Sleep(time.Second)
		w.Record(from("us", 2, Applied))
		same(t, "rows", []string{"eu healthy", "us superseded"}, w.states(t, 1))
		same(t, "unapplied units", map[string]int{"prod": 1}, w.Unapplied())
		w.Record(from("eu", 2, Applied))
		same(t, "unapplied units", map[string]int{"prod": 0}, w.Unapplied())
		same(t, "durations", []time.Duration{3 * time.Second, time.Second, time.Second}, w.took)
		same(t, "outcomes", []string{
			"prod a0: applied in 0 of 2 clusters",
			"prod a0: applied in 1 of 2 clusters",
			"prod a0: applied in 1 of 2 clusters, failed in us",
			"prod a0: applied in 0 of 2 clusters", // of the second commit
			"prod a0: applied in 2 of 2 clusters", // the first commit is part of what us has now
			"prod a0: applied in 1 of 2 clusters",
			"prod a0: applied in 2 of 2 clusters",
		}, w.told)
	})
}

// TestOrderOfReports: reports may overtake each other, come twice, and have the time in seconds.
func TestOrderOfReports(t *testing.T) {
	at := func(second int, state State) Report {
		r := from("eu", 1, state)
		r.Sent = time.Unix(1_700_000_000+int64(second), 0)
		return r
	}
	for name, test := range map[string]struct {
		reports []Report
		want    string
	}{
		"in order":                         {[]Report{at(1, Applied), at(2, Healthy)}, "eu healthy"},
		"overtaken in a second":            {[]Report{at(1, Healthy), at(1, Applied)}, "eu healthy"},
		"overtaken":                        {[]Report{at(2, Healthy), at(1, Applied)}, "eu healthy"},
		"a drift is corrected":             {[]Report{at(1, Healthy), at(9, Applied)}, "eu healthy"},
		"it becomes unhealthy":             {[]Report{at(1, Healthy), at(9, Failed)}, "eu failed it is broken"},
		"an old failure that is repeated":  {[]Report{at(2, Healthy), at(1, Failed)}, "eu healthy"},
		"a failure in the same second":     {[]Report{at(1, Applied), at(1, Failed)}, "eu failed it is broken"},
		"it recovers in the same second":   {[]Report{at(1, Failed), at(1, Applied)}, "eu applied"},
		"it recovers":                      {[]Report{at(1, Failed), at(2, Applied)}, "eu applied"},
		"it recovers and is healthy":       {[]Report{at(1, Failed), at(2, Healthy)}, "eu healthy"},
		"it still fails in another second": {[]Report{at(1, Failed), at(2, Failed)}, "eu failed it is broken"},
		"the clock was ahead by years":     {[]Report{at(1_000_000_000, Failed), from("eu", 1, Healthy)}, "eu healthy"},
		"a state that nobody may report":   {[]Report{at(1, Applied), at(2, Superseded)}, "eu applied"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed()
			w.pushed(1, "ns/one")
			for _, r := range test.reports {
				w.Record(r)
			}
			same(t, "rows", []string{test.want}, w.states(t, 1))
		})
	}
}

// TestWhichPipeline is about two pipelines that share a branch, where one's commit is the other's tip.
func TestWhichPipeline(t *testing.T) {
	flux := func(pipeline, commit string) Report {
		return Report{Reconciler: "Kustomization/a/b", Pipeline: pipeline, Commit: commit, State: Applied}
	}
	argocd := func(repository, path, commit string) Report {
		return Report{Reconciler: "Application/a/b", Repository: repository, Branch: "environments/prod", Path: path,
			Commit: commit, State: Applied}
	}
	elsewhere := func(of Report, branch, path string) Report {
		of.Branch, of.Path = branch, path
		return of
	}
	for name, test := range map[string]struct {
		report Report
		want   []string
	}{
		"the branch of both":        {elsewhere(flux("", id("c", 1)), "environments/prod", ""), []string{"one c1"}},
		"another branch":            {elsewhere(flux("", id("c", 1)), "environments/test", ""), nil},
		"another branch, by name":   {elsewhere(flux("one", id("c", 1)), "environments/test", ""), nil},
		"another branch of Argo CD": {elsewhere(argocd(shop, ".", id("c", 1)), "environments/test", "."), nil},
		"a branch that Argo CD is silent of": {elsewhere(argocd(shop, "one", id("c", 1)), "", "one"),
			[]string{"one c1"}},
		"a path of Flux": {elsewhere(flux("", id("c", 2)), "environments/prod", "one/ns/a"),
			[]string{"one c1 ns/a"}},
		"another path of Flux, by name":        {elsewhere(flux("one", id("c", 1)), "environments/prod", "three"), nil},
		"the commit of one":                    {flux("", id("c", 1)), []string{"one c1"}},
		"the commit of the other":              {flux("", id("c", 2)), []string{"two c2"}},
		"a chart":                              {flux("", id("c", 1)[:12]+"0000"), nil},
		"the beginning of a commit":            {flux("", id("c", 1)[:40]), []string{"one c1"}},
		"the tip, by the name of the pipeline": {flux("one", id("c", 2)), []string{"one c1"}},
		"another pipeline's commit":            {flux("two", id("c", 1)), nil},
		"an unknown pipeline":                  {flux("three", id("c", 1)), nil},
		"an unknown commit":                    {flux("", id("d", 1)), nil},
		"the whole branch":                     {argocd(shop, ".", id("c", 2)), []string{"one c1", "two c2"}},
		"a path":                               {argocd(shop, "one", id("c", 2)), []string{"one c1"}},
		"a unit":                               {argocd(shop, "one/ns/a", id("c", 2)), []string{"one c1 ns/a"}},
		"another path":                         {argocd(shop, "on", id("c", 2)), nil},
		"another repository":                   {argocd("git.example.com/x", ".", id("c", 2)), nil},
		"nothing could be read":                {argocd(shop, "one", ""), []string{"one c1"}},
		"nothing could be read, of nowhere":    {flux("", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed()
			w.Passed(t.Context(), outcome("one", "one", id("c", 1), 1))
			w.Passed(t.Context(), outcome("two", "two", id("c", 2), 2))
			w.Passed(t.Context(), outcome("one", "one", id("c", 2), 0))
			if known := w.Record(test.report); known != (test.want != nil) {
				t.Errorf("known: %v", known)
			}
			var got []string
			for _, name := range []string{"one", "two"} {
				if s, ok := w.Status(name); ok {
					got = append(got, strings.TrimSpace(name+" c"+s.Commit[len(s.Commit)-1:]+" "+s.Rows[0].Unit))
				}
			}
			same(t, "pipelines", test.want, got)
		})
	}
}

// TestRightAfterAStart: pipelines that share a branch have the same tip, so a commit alone does not say whose it is.
func TestRightAfterAStart(t *testing.T) {
	w := newTestbed()
	w.Passed(t.Context(), outcome("one", "one", id("c", 1), 0))
	w.Passed(t.Context(), outcome("two", "two", id("c", 1), 0))
	r := Report{Reconciler: "Kustomization/a/b", Commit: id("c", 1), State: Applied}
	if w.Record(r) {
		t.Error("a report is about two pipelines")
	}
	if r.Pipeline = "two"; !w.Record(r) {
		t.Error("a report with a name is about none")
	}
}

// TestAReportBeforeThePass: a reconciler can be faster than the end of the pass.
func TestAReportBeforeThePass(t *testing.T) {
	w := newTestbed()
	if w.Record(from("eu", 1, Healthy)) {
		t.Error("a commit is known before it was pushed")
	}
	w.pushed(1, "ns/one")
	same(t, "rows", []string{"eu healthy"}, w.states(t, 1))
	same(t, "durations", []time.Duration{0}, w.took)
}

// TestPromotion: somebody merges the proposal, and nobody knows which of the units changed.
func TestPromotion(t *testing.T) {
	w := newTestbed()
	propose := func(n int) {
		out := outcome("prod", "", id("c", n), 0, "ns/one")
		out.Definition.Spec.Output.Promotion.Mode = pipeline.PromotePullRequest
		w.Passed(t.Context(), out)
	}
	propose(1)
	w.Record(from("eu", 1, Applied))
	propose(2)
	same(t, "rows", []string{"eu pushed"}, w.states(t, 2))
	same(t, "unapplied units", map[string]int{"prod": 1}, w.Unapplied())
	w.Record(from("eu", 2, Applied))
	same(t, "unapplied units", map[string]int{"prod": 0}, w.Unapplied())
	same(t, "outcomes", []string{}, w.told) // The input commits are unknown.
}

// TestAfterARestart: nobody knows which units the commit of the process before changed, so one that fails counts.
func TestAfterARestart(t *testing.T) {
	w := newTestbed()
	w.Passed(t.Context(), outcome("prod", "", id("c", 1), 0, "ns/one"))
	w.Record(from("eu", 1, Applied))
	same(t, "unapplied units", map[string]int{"prod": 0}, w.Unapplied())
	w.Record(from("us", 1, Failed))
	same(t, "unapplied units", map[string]int{"prod": 1}, w.Unapplied())
	w.Record(from("us", 1, Applied))
	same(t, "unapplied units", map[string]int{"prod": 0}, w.Unapplied())
}

// TestTakenBack: a cluster can be taken back to an older commit, which a report that was overtaken does not mean.
func TestTakenBack(t *testing.T) {
	w := newTestbed()
	at := func(n, second int) Report {
		r := from("eu", n, Applied)
		r.Sent = time.Unix(1_700_000_000+int64(second), 0)
		return r
	}
	w.pushed(1, "ns/one")
	w.pushed(2, "ns/one", "ns/two")
	w.Record(at(2, 2))
	for _, overtaken := range []Report{at(1, 1), at(1, 2)} {
		w.Record(overtaken)
		same(t, "rows", []string{"eu applied"}, w.states(t, 2))
	}
	w.Record(at(1, 3))
	same(t, "rows", []string{"eu pushed"}, w.states(t, 2))
	same(t, "unapplied units", map[string]int{"prod": 2}, w.Unapplied())
	s, _ := w.Status("prod")
	same(t, "what it has", id("c", 1), s.Rows[0].Current)
	w.Record(at(2, 4))
	same(t, "rows", []string{"eu applied"}, w.states(t, 2))
	same(t, "unapplied units", map[string]int{"prod": 0}, w.Unapplied())
}

func TestUnitsOfReconcilers(t *testing.T) {
	w := newTestbed()
	w.pushed(1, "ns/one", "ns/two", "other/three")
	one, ns := from("eu", 1, Applied), from("eu", 0, Applied)
	one.Unit = "ns/one"
	w.Record(one)
	same(t, "unapplied units", map[string]int{"prod": 0}, w.Unapplied()) // nobody is known to apply the others
	w.pushed(2, "ns/one", "ns/two", "other/three")
	same(t, "unapplied units", map[string]int{"prod": 1}, w.Unapplied())
	ns.Unit, ns.Commit, ns.State = "ns", id("c", 2), Failed
	w.Record(ns)
	same(t, "unapplied units", map[string]int{"prod": 2}, w.Unapplied())
}

// TestUnknownUnit: a reconciler that names a unit which the pipeline does not have applies nothing of it. One whose
// unit is removed goes on as before.
func TestUnknownUnit(t *testing.T) {
	w := newTestbed()
	named := func(unit string, n int) Report {
		r := from("eu", n, Applied)
		r.Unit = unit
		return r
	}
	w.pushed(1, "ns/one", "ns/two")
	for unit, want := range map[string]bool{"ns/on": false, "two": false, "ns/one/more": false, "ns": true,
		"ns/one": true} {
		if got := w.Record(named(unit, 1)); got != want {
			t.Errorf("a report of the unit %q is about the pipeline: %v", unit, got)
		}
	}
	same(t, "rows", []string{"eu applied", "eu applied"}, w.states(t, 1))
	for n := 2; n < 3*MaxPushes; n++ {
		w.pushed(n, "ns/two")
		w.Record(named("ns", n))
		if !w.Record(named("ns/one", n)) {
			t.Errorf("after %d pushes a removed unit's reconciler is not known", n)
		}
	}
	same(t, "rows", []string{"eu applied", "eu applied"}, w.states(t, 3*MaxPushes-1))

	before := newTestbed() // The unit is new, and the report comes before the pass that pushed it.
	before.pushed(1, "ns/one")
	if before.Record(named("ns/two", 2)) {
		t.Error("a commit is known before it was pushed")
	}
	before.pushed(2, "ns/one", "ns/two")
	same(t, "rows", []string{"eu applied"}, before.states(t, 2))
}

// TestALongFailure: a unit counts until it is applied, however many commits that takes.
func TestALongFailure(t *testing.T) {
	w := newTestbed()
	one := func(n int, state State) Report {
		r := from("eu", n, state)
		r.Unit = "ns/one"
		return r
	}
	w.pushed(0, "ns/one")
	w.Record(one(0, Applied))
	w.pushed(1, "ns/one")
	for n := 2; n < 3*MaxPushes; n++ {
		out := outcome("prod", "", id("c", n), n, "ns/one", "ns/two")
		out.Report.Units[0].State = plan.UnitUnchanged
		w.Passed(t.Context(), out)
		w.Record(one(n, Failed))
		same(t, "unapplied units", map[string]int{"prod": 1}, w.Unapplied())
	}
	w.Record(one(3*MaxPushes-1, Applied))
	same(t, "unapplied units", map[string]int{"prod": 0}, w.Unapplied())
}

// TestBounds: nothing grows without limit.
func TestBounds(t *testing.T) {
	w := newTestbed()
	for n := range 3 * MaxPushes {
		w.pushed(n, fmt.Sprint("ns/", n))
		w.Record(from("eu", n, Applied))
		if n == MaxPushes {
			w.Record(from("gone", n, Applied))
		}
		for i := range 2 * maxTips {
			w.Passed(t.Context(), outcome("prod", "", id("d", 100*n+i), 0))
		}
	}
	f := w.pipelines["prod"]
	if len(f.pushes) != MaxPushes || len(f.units) != MaxPushes || len(f.pushes[0].tips) != maxTips {
		t.Errorf("%d pushes, %d units, %d tips", len(f.pushes), len(f.units), len(f.pushes[0].tips))
	}
	same(t, "rows", []string{"eu applied"}, w.states(t, 3*MaxPushes-1)) // gone has been silent for long
	if w.rows != MaxPushes {
		t.Errorf("%d rows are counted", w.rows)
	}
	for i := range MaxReconcilers + 10 {
		w.Record(from(fmt.Sprint("cluster-", i), 3*MaxPushes-1, Applied))
	}
	if len(f.reconcilers) != MaxReconcilers {
		t.Errorf("%d reconcilers", len(f.reconcilers))
	}
	for i := range maxWaiting + 10 {
		w.Record(from("eu", 1000+i, Applied))
	}
	if len(w.waiting) != maxWaiting {
		t.Errorf("%d reports wait", len(w.waiting))
	}
	w.pushed(3*MaxPushes, "ns/one")
	w.rows = MaxRows
	w.Record(from("eu", 3*MaxPushes, Applied))
	if len(f.pushes[0].rows) != 0 {
		t.Error("there are too many rows")
	}
}

func TestForgetting(t *testing.T) {
	for name, forget := range map[string]func(*fleet.Outcome){
		"removed":            func(o *fleet.Outcome) { o.Removed = true },
		"of another replica": func(o *fleet.Outcome) { o.After.Owned = false },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed()
			w.pushed(1, "ns/one")
			w.Record(from("eu", 1, Applied))
			out := outcome("prod", "", id("c", 1), 0)
			forget(&out)
			w.Passed(t.Context(), out)
			if _, ok := w.Status("prod"); ok || w.rows != 0 || len(w.Unapplied()) != 0 {
				t.Errorf("known: %v, %d rows, unapplied %v", ok, w.rows, w.Unapplied())
			}
		})
	}
}

func TestSummary(t *testing.T) {
	for want, s := range map[string]Status{
		"applied in 3 of 3 clusters": {Clusters: 3, Applied: 3},
		"applied in 0 of 1 cluster":  {Clusters: 1},
		"applied in 1 of 2 clusters, failed in eu": {Clusters: 2, Applied: 1, Failed: 1,
			Rows: []Row{{Cluster: "eu", State: Failed}}},
		"applied in 0 of 5 clusters, failed in a, b, c and 2 more": {Clusters: 5, Failed: 5,
			Rows: []Row{{Cluster: "a", State: Failed}, {Cluster: "a", State: Failed}, {Cluster: "b", State: Failed},
				{Cluster: "c", State: Failed}, {Cluster: "d", State: Failed}, {Cluster: "e", State: Failed}}},
	} {
		if got := s.Summary(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestConcurrently lets everybody use a store at once, for the race detector.
func TestConcurrently(t *testing.T) {
	s := New(Options{Applied: func(string, time.Duration) {}, Changed: func(Change) {},
		Log: slog.New(slog.DiscardHandler)})
	var running sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprint("prod-", i%2)
		running.Go(func() {
			for n := 1; n < 50; n++ {
				s.Passed(t.Context(), outcome(name, "", id(fmt.Sprint(i), n), n, "ns/one"))
				s.Status(name)
				s.Unapplied()
			}
		})
		running.Go(func() {
			for n := 1; n < 50; n++ {
				s.Record(Report{Cluster: fmt.Sprint(i), Reconciler: "Kustomization/a/b", Pipeline: name,
					Commit: id(fmt.Sprint(i), n), State: Healthy})
				s.Commit(name, id(fmt.Sprint(i), n))
			}
		})
	}
	running.Wait()
}
