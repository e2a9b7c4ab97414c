package telemetry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/lease"
	"github.com/agentry-dev/agentry/internal/outbox"
	"github.com/agentry-dev/agentry/internal/replica"
)

const shopURL = "https://git.example.com/shop"

// still is a fleet whose state does not change.
type still struct {
	pipelines []fleet.Status
	remotes   []fleet.RemoteStatus
	problems  diag.List
}

func (s *still) Status() []fleet.Status        { return s.pipelines }
func (s *still) Remotes() []fleet.RemoteStatus { return s.remotes }
func (s *still) Problems() diag.List           { return s.problems }
func (s *still) MemoryBytes() int64            { return 1 << 20 }

func condition(kind string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status}
}

// passed returns the outcome of a pass that took two seconds.
func passed(name string, report *gitsync.Report, err error) fleet.Outcome {
	return fleet.Outcome{Definition: &fleet.Definition{}, Report: report, Err: err,
		Began: time.UnixMilli(1_000_000_500), Took: 2 * time.Second, After: fleet.Status{Name: name, Owned: true}}
}

// series returns the values of agentry's metrics with a pipeline or remote in their labels, and of counters. A
// histogram has the number of its observations.
func series(t *testing.T, s *Service) map[string]float64 {
	t.Helper()
	families, err := s.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "agentry_") {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[strings.TrimPrefix(f.GetName(), "agentry_")+"{"+strings.Join(labels, ",")+"}"] = value(f.GetType(), m)
		}
	}
	return out
}

func value(kind dto.MetricType, m *dto.Metric) float64 {
	switch kind {
	case dto.MetricType_COUNTER:
		return m.GetCounter().GetValue()
	case dto.MetricType_HISTOGRAM:
		return float64(m.GetHistogram().GetSampleCount())
	}
	return m.GetGauge().GetValue()
}

// wantValues checks some series.
func wantValues(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s is %v (there: %v), want %v", name, v, ok, value)
		}
	}
}

func TestPassesOfAService(t *testing.T) {
	s := NewService("v1")
	pushed := &gitsync.Report{
		Commit: id, Changes: []plan.FileChange{{Op: "removed"}, {Op: "removed"}, {Op: "added"}},
		Sources: []gitsync.SourceStatus{{Date: time.UnixMilli(999_992_500)}, {Date: time.UnixMilli(999_000_000)}},
	}
	s.Passed(t.Context(), passed("prod", pushed, nil))
	s.Passed(t.Context(), passed("prod", &gitsync.Report{}, nil))
	s.Passed(t.Context(), passed("test", holding(), nil))
	s.Passed(t.Context(), passed("prod", nil, errors.New("no network")))
	s.Passed(t.Context(), fleet.Outcome{After: fleet.Status{Name: "asleep", Owned: true}})
	got := series(t, s)
	wantValues(t, got, map[string]float64{
		"reconcile_duration_seconds{result=success}":                 2,
		"reconcile_duration_seconds{result=held}":                    1,
		"reconcile_duration_seconds{result=failure}":                 1,
		"pruned_files_total{pipeline=prod}":                          2,
		"last_push_timestamp_seconds{pipeline=prod}":                 1_000_002.5,
		"source_lag_seconds{pipeline=prod}":                          10,
		"last_pass_success{pipeline=prod}":                           0,
		"units{pipeline=test,state=held}":                            1,
		"build_info{goversion=" + runtime.Version() + ",version=v1}": 1,
	})
	for name := range got {
		if strings.Contains(name, "asleep") {
			t.Errorf("%s, though there was no pass", name)
		}
	}

	removed := fleet.Outcome{Removed: true, After: fleet.Status{Name: "prod", Owned: true}}
	elsewhere := fleet.Outcome{After: fleet.Status{Name: "test"}}
	s.Passed(t.Context(), removed)
	s.Passed(t.Context(), elsewhere)
	for name := range series(t, s) {
		if strings.Contains(name, "pipeline=") {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestAnInputFromTheFutureHasNoLag(t *testing.T) {
	s := NewService("v1")
	s.Passed(t.Context(), passed("prod",
		&gitsync.Report{Commit: id, Sources: []gitsync.SourceStatus{{Date: time.UnixMilli(2_000_000_000)}}}, nil))
	wantValues(t, series(t, s), map[string]float64{"source_lag_seconds{pipeline=prod}": 0})
}

// TestFoldersAreNoOutput: a pipeline that lists folders renders nothing, and makes passes only when its source
// changes.
func TestFoldersAreNoOutput(t *testing.T) {
	s := NewService("v1")
	listed := passed("each", &gitsync.Report{Sources: []gitsync.SourceStatus{{URL: shopURL, Ref: "branch main",
		Commit: id}}}, nil)
	listed.Definition.Expand = func([]string) ([]fleet.Definition, diag.List) { return nil, nil }
	s.Passed(t.Context(), listed)
	got := series(t, s)
	wantValues(t, got, map[string]float64{"ready{pipeline=each}": 1, "last_pass_success{pipeline=each}": 1,
		"findings{pipeline=each,severity=error}": 0})
	for name := range got {
		for _, not := range []string{"last_pass_timestamp", "last_pass_duration", "units", "output_files"} {
			if strings.HasPrefix(name, not) {
				t.Errorf("%s is there", name)
			}
		}
	}
}

func TestRequestsToGit(t *testing.T) {
	s := NewService("v1")
	f := &still{remotes: []fleet.RemoteStatus{{URL: shopURL}}}
	s.Watch(f, nil)
	for err, times := range map[error]int{
		nil: 2, repo.ErrLostRace: 3, transport.ErrAuth: 1, transport.ErrUnreachable: 1, errors.New("odd"): 1,
		&repo.PushError{Refs: []repo.RefOutcome{{Err: repo.ErrRejected}}}: 1,
	} {
		for range times {
			s.Git(repo.Request{Remote: shopURL, Operation: repo.OperationPush, Err: err})
		}
	}
	s.Git(repo.Request{Remote: shopURL, Operation: repo.OperationList, Took: time.Second})
	push := "git_requests_total{operation=push,remote=" + shopURL + ",result="
	wantValues(t, series(t, s), map[string]float64{
		push + "ok}": 2, push + "lost_race}": 3, push + "unauthorized}": 1, push + "unreachable}": 1,
		push + "error}": 1, push + "rejected}": 1,
		"git_requests_total{operation=list,remote=" + shopURL + ",result=ok}": 1,
		"push_conflicts_total{remote=" + shopURL + "}":                        3,
		"git_request_duration_seconds{operation=push}":                        9,
	})
	f.remotes = nil
	series(t, s) // reads the state
	for name := range series(t, s) {
		if strings.Contains(name, shopURL) {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestStateOfTheFleet(t *testing.T) {
	s := NewService("v1")
	at := metav1.NewTime(time.Unix(1000, 0))
	s.Watch(&still{
		pipelines: []fleet.Status{
			{Name: "a", Owned: true, Conditions: []metav1.Condition{condition(meta.ReadyCondition,
				metav1.ConditionTrue)}},
			{Name: "b", Owned: true, Failures: 4,
				Conditions: []metav1.Condition{condition(meta.ReadyCondition, metav1.ConditionFalse),
					condition(meta.StalledCondition, metav1.ConditionTrue)}},
			{Name: "c", Owned: true, Conditions: []metav1.Condition{condition(meta.ReadyCondition,
				metav1.ConditionUnknown), condition(meta.ReconcilingCondition, metav1.ConditionTrue)}},
			{Name: "d", Owned: true, Suspended: true}, {Name: "e"},
		},
		remotes: []fleet.RemoteStatus{{URL: shopURL, LastRound: &at, Took: metav1.Duration{Duration: time.Second}},
			{URL: shopURL, Failures: 2, LastRound: &at, NextRound: &at}},
		problems: diag.List{{Severity: diag.Error}, {Severity: diag.Warning}},
	}, func() map[string]int { return map[string]int{"github.com": 4999} })
	got := series(t, s)
	wantValues(t, got, map[string]float64{
		"pipelines{state=ready}": 1, "pipelines{state=not_ready}": 1, "pipelines{state=pending}": 1,
		"pipelines{state=suspended}": 1,
		"pipelines{state=elsewhere}": 1, "pipelines{state=stalled}": 1, "pipelines{state=reconciling}": 1,
		"pipeline_failures{pipeline=b}": 4, "configuration_problems{}": 1, "kept_bytes{}": 1 << 20,
		"remote_failures{remote=" + shopURL + "}":                     2,
		"remote_last_round_timestamp_seconds{remote=" + shopURL + "}": 1000,
		"scm_rate_limit_remaining{host=github.com}":                   4999,
	})
	if _, ok := got["pipeline_failures{pipeline=a}"]; ok {
		t.Error("a pipeline without failures has a series for them")
	}
}

// full returns metrics with a series for each description.
func full(t *testing.T) *Service {
	s := NewService("v1")
	at := metav1.Now()
	s.Watch(&still{pipelines: []fleet.Status{{Name: "a", Owned: true, Failures: 1}},
		remotes: []fleet.RemoteStatus{{URL: shopURL, LastRound: &at, NextRound: &at}}},
		func() map[string]int { return map[string]int{"github.com": 1} })
	report := holding()
	report.Commit = id
	s.Passed(t.Context(), passed("prod", report, nil))
	s.Git(repo.Request{Remote: shopURL, Err: repo.ErrLostRace})
	s.Outbox("events", func() outbox.Stats { return outbox.Stats{} })
	s.Webhook("github", "accepted")
	s.Applied("prod", time.Second)
	s.Delivery(func() map[string]int { return map[string]int{"prod": 1} })
	s.Reloaded(true)
	s.Reloaded(false)
	return s
}

// TestServiceMetricsAreInTheManual: the manual has all metrics, and no others.
func TestServiceMetricsAreInTheManual(t *testing.T) {
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := full(t)
	r, err := replica.New(lease.Options{Name: "agentry", Identity: "pod-0"})
	if err != nil {
		t.Fatal(err)
	}
	s.Registry().MustRegister(r)
	families, err := s.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "agentry_") {
			continue
		}
		names = append(names, f.GetName())
		if !strings.Contains(f.GetHelp(), "Worry") && !strings.HasSuffix(f.GetName(), "_info") {
			t.Errorf("%s: the help text does not say when to worry", f.GetName())
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		if diff := cmp.Diff(labels, documented(string(manual), f.GetName())); diff != "" {
			t.Errorf("%s, its labels -there +in docs/metrics.md:\n%s", f.GetName(), diff)
		}
	}
	for line := range strings.Lines(string(manual)) {
		name, isRow := strings.CutPrefix(line, "| `")
		name = name[:max(0, strings.IndexAny(name, "{`"))]
		if isRow && !slices.Contains(names, name) {
			t.Errorf("docs/metrics.md has %s, which there is not", name)
		}
	}
}

// documented returns the sorted labels of a metric in the manual, or "missing" if it is not there.
func documented(manual, name string) []string {
	_, rest, ok := strings.Cut(manual, "| `"+name)
	text, _, closed := strings.Cut(rest, "`")
	inner, labelled := strings.CutPrefix(text, "{")
	switch {
	case !ok || !closed || text != "" && !labelled:
		return []string{"missing"}
	case text == "":
		return nil
	}
	labels := strings.Split(strings.TrimSuffix(inner, "}"), ",")
	slices.Sort(labels)
	return labels
}

func TestOutboxMetrics(t *testing.T) {
	s := NewService("v1")
	waits := outbox.Stats{Waiting: 2, Oldest: time.Now().Add(-time.Hour), Done: 3, Failed: 4, Dropped: 5, Retried: 6}
	s.Outbox("events", func() outbox.Stats { return waits })
	s.Outbox("artifacts", func() outbox.Stats { return outbox.Stats{} })
	got := series(t, s)
	if age := got["outbox_oldest_seconds{outbox=events}"]; age < 3600 || age > 3660 {
		t.Errorf("the oldest waits for %v s", age)
	}
	for name, want := range map[string]float64{
		"outbox_waiting{outbox=events}":                       2,
		"outbox_ended_total{outbox=events,result=done}":       3,
		"outbox_ended_total{outbox=events,result=failed}":     4,
		"outbox_ended_total{outbox=events,result=dropped}":    5,
		"outbox_retries_total{outbox=events}":                 6,
		"outbox_oldest_seconds{outbox=artifacts}":             0,
		"outbox_ended_total{outbox=artifacts,result=dropped}": 0,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (%v), want %v", name, value, ok, want)
		}
	}
}

func TestSeriesAreBounded(t *testing.T) {
	s := NewService("v1")
	s.Watch(&still{}, nil)
	for i := range 100 {
		s.Git(repo.Request{Remote: fmt.Sprintf("https://git.example.com/%d", i), Operation: repo.OperationList})
	}
	series(t, s)
	for name := range series(t, s) {
		if strings.HasPrefix(name, "git_requests_total") {
			t.Errorf("%s: of a remote that is in no pipeline", name)
		}
	}
}
