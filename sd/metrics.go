package sd

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

const namespace = "agentry_sd_"

// metrics has the counters; the collector has the gauges.
type metrics struct {
	fetches  prometheus.Histogram
	failures *prometheus.CounterVec
	drops    *prometheus.CounterVec
	requests *prometheus.CounterVec
	rounds   prometheus.Counter
	reloads  prometheus.Counter
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		fetches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: namespace + "fetch_duration_seconds", Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 2, 5, 10},
			Help: "Duration of polls of pods, successful and failed. Worry when many come near --pod-timeout.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "fetch_failures_total",
			Help: "Failed polls of pods, by reason. Starting pods fail for a moment; worry when it goes on, and at " +
				"once about redirect, too_large and document_full.",
		}, []string{"reason"}),
		drops: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "groups_dropped_total",
			Help: "Target groups dropped from the answers of pods, by reason, counted at each poll. Worry about any: " +
				"the page says which; foreign_target and reserved_label may be an attack.",
		}, []string{"reason"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "http_requests_total",
			Help: "Requests by status code and by view: all, agent, page, other. Worry about 503 long after a start, " +
				"and about 400 and 401: a consumer is misconfigured.",
		}, []string{"code", "view"}),
		rounds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: namespace + "rounds_total",
			Help: "Completed rounds: in each, every pod that answers was polled once. Worry when it grows by much " +
				"less than one per --poll-interval: polls are late, and --max-polls is too low.",
		}),
		reloads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: namespace + "file_reload_failures_total",
			Help: "Changed certificates, authorities and tokens that could not be used; the previous ones stay in " +
				"force. Worry about any: they expire.",
		}),
	}
	for _, reason := range poll.Reasons() {
		m.failures.WithLabelValues(string(reason))
	}
	for _, reason := range merge.Reasons() {
		m.drops.WithLabelValues(string(reason))
	}
	registry.MustRegister(m.fetches, m.failures, m.drops, m.requests, m.rounds, m.reloads, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

var _ poll.Observer = (*metrics)(nil)

// Polled implements [poll.Observer].
func (m *metrics) Polled(took time.Duration, failure poll.Reason) {
	m.fetches.Observe(took.Seconds())
	if failure != "" {
		m.failures.WithLabelValues(string(failure)).Inc()
	}
}

// Dropped implements [poll.Observer].
func (m *metrics) Dropped(reason merge.Reason, groups int) {
	m.drops.WithLabelValues(string(reason)).Add(float64(groups))
}

// Round implements [poll.Observer].
func (m *metrics) Round() { m.rounds.Inc() }

// collector reads the gauges from a report whenever metrics are scraped.
type collector struct{ a *Aggregator }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+name, help, labels, nil)
}

// descriptions describes the metrics of the collector.
type descriptions struct {
	ready, pods, targets, bytes, oldest, watches, heard, expected, seen *prometheus.Desc
}

func newDescriptions() descriptions {
	return descriptions{
		ready: describe("ready", "Whether there is a document, 0 or 1. Worry when it stays 0: consumers find "+
			"nothing new, and after they restart nothing at all."),
		pods: describe("pods", "Pods by state: new (not tried yet), good, empty (answered, without targets), "+
			"failing (the last good answer is kept). Worry when failing stays above 0.", "state"),
		targets: describe("targets", "Targets in the document. Worry when it falls by much."),
		bytes: describe("document_bytes",
			"Size of the document, which each consumer reads whole. Worry near --max-document-bytes."),
		oldest: describe("oldest_good_answer_seconds",
			"Age of the oldest answer in the document. Worry above some minutes: that pod no longer answers."),
		watches: describe("watches", "Watched namespaces, or names in DNS, by state: waiting, good, forbidden, "+
			"failing. Worry when forbidden is not 0, or failing stays.", "state"),
		heard: describe("watch_last_event_seconds",
			"Time since the last message of the longest silent watch. The API server sends one about every minute. "+
				"Worry above some minutes: new and removed pods are not noticed."),
		expected: describe("integrations_expected",
			"Targets that the pods of a GrafanaAgent should list, by integration.", "namespace", "grafanaagent",
			"integration"),
		seen: describe("integrations_seen",
			"Targets of the expected integrations that the pods of a GrafanaAgent list in their last good answers. "+
				"Worry when it stays below agentry_sd_integrations_expected: agents do not list integrations that "+
				"crashed.", "namespace", "grafanaagent", "integration"),
	}
}

// Describe implements [prometheus.Collector].
func (c collector) Describe(out chan<- *prometheus.Desc) {
	d := newDescriptions()
	for _, one := range []*prometheus.Desc{d.ready, d.pods, d.targets, d.bytes, d.oldest, d.watches, d.heard,
		d.expected, d.seen} {
		out <- one
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(out chan<- prometheus.Metric) {
	d, r, now := newDescriptions(), c.a.report(), time.Now()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	ready := 0.0
	if r.Ready {
		ready = 1
	}
	gauge(d.ready, ready)
	gauge(d.targets, float64(r.Targets))
	gauge(d.bytes, float64(r.Bytes))
	states, oldest := map[poll.State]int{}, time.Duration(0)
	for _, agent := range r.Agents {
		for _, p := range agent.Pods {
			states[p.State]++
			if !p.LastGood.IsZero() {
				oldest = max(oldest, now.Sub(p.LastGood))
			}
		}
		for _, e := range agent.Integrations {
			gauge(d.expected, float64(e.Expected), agent.Namespace, agent.Name, e.Integration)
			gauge(d.seen, float64(e.Seen), agent.Namespace, agent.Name, e.Integration)
		}
	}
	for _, s := range poll.States() {
		gauge(d.pods, float64(states[s]), string(s))
	}
	gauge(d.oldest, oldest.Seconds())
	watches, silent := map[discover.WatchState]int{}, time.Duration(0)
	for _, w := range r.Watches {
		watches[w.State]++
		if !w.Heard.IsZero() {
			silent = max(silent, now.Sub(w.Heard))
		}
	}
	for _, s := range discover.WatchStates() {
		gauge(d.watches, float64(watches[s]), string(s))
	}
	gauge(d.heard, silent.Seconds())
}
