package telemetry

import (
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// Fleet has the state to show; [fleet.Fleet] implements it.
type Fleet interface {
	Status() []fleet.Status
	Remotes() []fleet.RemoteStatus
	Problems() diag.List
	MemoryBytes() int64
}

var _ Fleet = (*fleet.Fleet)(nil)

// Watch adds metrics about the state of a fleet. limits returns the number of requests that the APIs of sites still
// allow, by host; it may be nil. Watch is called once.
func (s *Service) Watch(f Fleet, limits func() map[string]int) {
	s.registry.MustRegister(&state{service: s, fleet: f, limits: limits, d: describedState()})
}

// state reads the state of the fleet at each scrape.
type state struct {
	service *Service
	fleet   Fleet
	limits  func() map[string]int
	d       stateDescriptions
}

type stateDescriptions struct {
	pipelines, failures, problems, kept                *prometheus.Desc
	round, roundTook, remoteFailures, retry, remaining *prometheus.Desc
}

func describedState() stateDescriptions {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("agentry_"+name, help, labels, nil)
	}
	return stateDescriptions{
		pipelines: desc("pipelines",
			"Pipelines by state: ready, not_ready, pending (not tried yet), suspended, elsewhere (another replica is "+
				"active); and in addition stalled (somebody has to act) and reconciling (a pass is to be "+
				"made, or waits). Worry when stalled is not 0, or reconciling stays near the number of pipelines: "+
				"the fleet cannot keep up.", "state"),
		failures: desc("pipeline_failures",
			"Failed passes of a pipeline since the last good one; no series while there are none. Worry when it "+
				"grows, because the time between retries grows too.", "pipeline"),
		problems: desc("configuration_problems",
			"Errors in the pipeline files; pipelines that ran before continue. Worry when it is not 0."),
		kept: desc("kept_bytes",
			"Estimate of the memory that pipelines keep between passes, limited by --memory. Worry when it is at the "+
				"limit all the time and passes are slow."),
		round: desc("remote_last_round_timestamp_seconds",
			"When the refs of a remote were last listed. Worry when it is older than a few intervals: it is no "+
				"longer polled.", "remote"),
		roundTook: desc("remote_last_round_duration_seconds",
			"How long the last listing of a remote's refs took. Worry when it comes near the interval.", "remote"),
		remoteFailures: desc("remote_failures",
			"Failed listings of a remote's refs since the last good one. Worry when it is not 0 for long.",
			"remote"),
		retry: desc("remote_next_round_seconds",
			"Time until the next listing of a remote; longer than the interval while it fails. Worry when it is far "+
				"below 0: the service hangs.", "remote"),
		remaining: desc("scm_rate_limit_remaining",
			"Requests that the API of a forge still allows until its limit is reset. Worry when it comes near 0: "+
				"comments and statuses wait.", "host"),
	}
}

// Describe implements [prometheus.Collector].
func (s *state) Describe(out chan<- *prometheus.Desc) {
	d := s.d
	for _, one := range []*prometheus.Desc{d.pipelines, d.failures, d.problems, d.kept, d.round, d.roundTook,
		d.remoteFailures, d.retry, d.remaining} {
		out <- one
	}
}

// Collect implements [prometheus.Collector].
func (s *state) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counts := map[string]int{"ready": 0, "not_ready": 0, "pending": 0, "suspended": 0, "elsewhere": 0, "stalled": 0,
		"reconciling": 0}
	for _, p := range s.fleet.Status() {
		for _, word := range statesOf(p) {
			counts[word]++
		}
		if p.Failures > 0 && p.Owned {
			gauge(s.d.failures, float64(p.Failures), p.Name)
		}
	}
	for word, n := range counts {
		gauge(s.d.pipelines, float64(n), word)
	}
	gauge(s.d.problems, float64(s.fleet.Problems().Count(diag.Error)))
	gauge(s.d.kept, float64(s.fleet.MemoryBytes()))
	s.remotes(gauge)
	if s.limits == nil {
		return
	}
	for host, left := range s.limits() {
		gauge(s.d.remaining, float64(left), host)
	}
}

// remotes shows remotes by URL. Of several remotes with the same URL, which differ by credential, it shows the one in
// the worst state.
func (s *state) remotes(gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	worst := map[string]fleet.RemoteStatus{}
	known := map[string]bool{}
	for _, r := range s.fleet.Remotes() {
		other, seen := worst[r.URL]
		if !seen || r.Failures > other.Failures ||
			r.Failures == other.Failures && when(r.LastRound).Before(when(other.LastRound)) {
			worst[r.URL] = r
		}
		known[r.URL] = true
	}
	for url, r := range worst {
		gauge(s.d.remoteFailures, float64(r.Failures), url)
		if r.LastRound != nil {
			gauge(s.d.round, float64(r.LastRound.UnixMilli())/1000, url)
			gauge(s.d.roundTook, r.Took.Seconds(), url)
		}
		if r.NextRound != nil {
			gauge(s.d.retry, time.Until(r.NextRound.Time).Seconds(), url)
		}
	}
	s.service.keepRemotes(known)
}

func when(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// statesOf returns the states under which a pipeline is counted.
func statesOf(p fleet.Status) []string {
	switch {
	case !p.Owned:
		return []string{"elsewhere"}
	case p.Suspended:
		return []string{"suspended"}
	}
	words := []string{"pending"}
	for _, c := range p.Conditions {
		switch {
		case c.Type == meta.ReadyCondition && c.Status == metav1.ConditionTrue:
			words[0] = "ready"
		case c.Type == meta.ReadyCondition && c.Status == metav1.ConditionFalse:
			words[0] = "not_ready"
		case c.Type == meta.StalledCondition && c.Status == metav1.ConditionTrue:
			words = append(words, "stalled")
		case c.Type == meta.ReconcilingCondition && c.Status == metav1.ConditionTrue:
			words = append(words, "reconciling")
		}
	}
	return words
}
