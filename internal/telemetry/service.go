package telemetry

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// Service has the metrics of `agentry serve`: about its passes, its requests to remotes and, at each scrape, the state
// of its fleet. Series of removed pipelines and remotes are dropped.
type Service struct {
	registry *prometheus.Registry
	passes   *Passes

	reconcile, requestTime, applied                *prometheus.HistogramVec
	requests, conflicts, pruned, webhooks, reloads *prometheus.CounterVec
	lastPush, lag                                  *prometheus.GaugeVec

	mu      sync.Mutex
	remotes map[string]bool // remotes with series
}

var _ fleet.Observer = (*Service)(nil)

// NewService returns the metrics of a service, and registers them.
func NewService(version string) *Service {
	s := &Service{
		registry: prometheus.NewRegistry(), passes: NewPasses(), remotes: map[string]bool{},
		reconcile: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "agentry_reconcile_duration_seconds",
			Help: "Duration of passes by their result: success, held (finished, with something held or refused), " +
				"failure (a repository could not be read or written). Worry when failures go on, or when most take " +
				"longer than the interval.",
			Buckets: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000},
		}, []string{"result"}),
		requestTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "agentry_git_request_duration_seconds",
			Help:    "Duration of requests to Git remotes. Worry when lists take seconds: each poll waits for one.",
			Buckets: []float64{.03, .1, .25, .5, 1, 2, 4, 10, 20, 60, 300},
		}, []string{"operation"}),
		applied: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "agentry_applied_seconds",
			Help: "Time from the push of a commit until a cluster reported that it has applied it. Worry when it is " +
				"longer than the interval at which Flux or Argo CD reads the branch.",
			Buckets: []float64{1, 3, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400},
		}, []string{"pipeline"}),
		requests: counters("git_requests_total",
			"Requests to Git remotes: list, fetch or push, and ok or the error. Worry when other results than "+
				"ok and lost_race continue.", "remote", "operation", "result"),
		conflicts: counters("push_conflicts_total",
			"Pushes that lost a race: somebody else moved the branch first, and the pass was repeated on top. Worry "+
				"when it grows with each pass: two fleets write to the same place.", "remote"),
		pruned: counters("pruned_files_total",
			"Files that commits removed from the output. Worry when it jumps and nobody deleted anything.", "pipeline"),
		webhooks: counters("webhook_requests_total",
			"Webhooks, and messages of flux and argocd, by type and result: accepted, ping, ignored, replayed, "+
				"unauthorized, too_large, limited, broken. Worry when unauthorized grows for a type that you use, or "+
				"accepted stays flat though people push.", "source", "result"),
		reloads: counters("configuration_reloads_total",
			"Reloads of the pipeline files, by result: success, or failure if something in them "+
				"cannot be used. Worry when failures grow: see agentry_configuration_problems.", "result"),
		lastPush: gauges("last_push_timestamp_seconds",
			"When the output branch was last pushed by this process. Worry when inputs changed since, and "+
				"agentry_ready is 0.", "pipeline"),
		lag: gauges("source_lag_seconds",
			"Time from the newest input commit, by its committer's date, to the push of its output; of the "+
				"last push. Worry when it is much longer than the interval: changes arrive late.", "pipeline"),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "agentry_build_info", Help: "Always 1; the labels have the running version.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	s.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build, s.passes,
		s.reconcile, s.requestTime, s.applied, s.requests,
		s.conflicts, s.pruned, s.webhooks, s.reloads, s.lastPush, s.lag,
	)
	return s
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentry_" + name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "agentry_" + name, Help: help}, labels)
}

// Registry returns the registry of all metrics, to which others can be added.
func (s *Service) Registry() *prometheus.Registry { return s.registry }

// Passed implements [fleet.Observer].
func (s *Service) Passed(_ context.Context, o fleet.Outcome) {
	name := o.After.Name
	if o.Removed || !o.After.Owned {
		s.forget(name)
		return
	}
	if !o.IsPass() {
		return
	}
	failed := o.Err != nil || o.Report == nil
	s.passes.Observe(Pass{Pipeline: name, Report: o.Report, Failed: failed, Ended: o.Began.Add(o.Took), Took: o.Took,
		Folders: o.Definition.Expand != nil})
	result := "failure"
	if !failed {
		result = "success"
		if o.Report.Ready().Status != metav1.ConditionTrue {
			result = "held"
		}
	}
	s.reconcile.WithLabelValues(result).Observe(o.Took.Seconds())
	if !failed && o.Report.Commit != "" {
		s.pushed(name, o)
	}
}

func (s *Service) pushed(name string, o fleet.Outcome) {
	ended := o.Began.Add(o.Took)
	s.lastPush.WithLabelValues(name).Set(float64(ended.UnixMilli()) / 1000)
	removed := 0
	for _, c := range o.Report.Changes {
		if c.Op == "removed" {
			removed++
		}
	}
	s.pruned.WithLabelValues(name).Add(float64(removed))
	var newest time.Time
	for _, src := range o.Report.Sources {
		if src.Date.After(newest) {
			newest = src.Date
		}
	}
	// A committer's clock can be ahead of ours.
	s.lag.WithLabelValues(name).Set(max(0, ended.Sub(newest).Seconds()))
}

// forget drops the series of a pipeline.
func (s *Service) forget(pipeline string) {
	s.passes.Forget(pipeline)
	s.applied.DeleteLabelValues(pipeline)
	s.pruned.DeleteLabelValues(pipeline)
	s.lastPush.DeleteLabelValues(pipeline)
	s.lag.DeleteLabelValues(pipeline)
}

// Git records a request, as [repo.Options.Observe].
func (s *Service) Git(r repo.Request) {
	s.mu.Lock()
	s.remotes[r.Remote] = true
	s.mu.Unlock()
	result := gitResult(r.Err)
	s.requests.WithLabelValues(r.Remote, string(r.Operation), result).Inc()
	s.requestTime.WithLabelValues(string(r.Operation)).Observe(r.Took.Seconds())
	if result == "lost_race" {
		s.conflicts.WithLabelValues(r.Remote).Inc()
	}
}

// gitResult returns the result of a request as one word.
func gitResult(err error) string {
	if err == nil {
		return "ok"
	}
	for _, known := range []struct {
		err  error
		word string
	}{
		{context.Canceled, "canceled"},
		{repo.ErrLostRace, "lost_race"},
		{transport.ErrAuth, "unauthorized"},
		{transport.ErrHostKey, "host_key"},
		{transport.ErrRepositoryNotFound, "not_found"},
		{transport.ErrRefNotFound, "not_found"},
		{limit.ErrTooLarge, "too_large"},
		{transport.ErrUnreachable, "unreachable"},
		{repo.ErrRejected, "rejected"},
	} {
		if errors.Is(err, known.err) {
			return known.word
		}
	}
	return "error"
}

// keepRemotes drops the series of all other remotes.
func (s *Service) keepRemotes(known map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for remote := range s.remotes {
		if known[remote] {
			continue
		}
		delete(s.remotes, remote)
		labels := prometheus.Labels{"remote": remote}
		s.requests.DeletePartialMatch(labels)
		s.conflicts.DeletePartialMatch(labels)
	}
}

// Webhook counts a webhook.
func (s *Service) Webhook(source, result string) { s.webhooks.WithLabelValues(source, result).Inc() }

// Reloaded counts a reload of the configuration.
func (s *Service) Reloaded(good bool) {
	result := "success"
	if !good {
		result = "failure"
	}
	s.reloads.WithLabelValues(result).Inc()
}
