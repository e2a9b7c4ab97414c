package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentry-dev/agentry/internal/outbox"
)

// Outbox adds metrics of the deliveries of one kind. It is called once for each kind, which is one word such as
// events.
func (s *Service) Outbox(kind string, stats func() outbox.Stats) {
	labels := prometheus.Labels{"outbox": kind}
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("agentry_"+name, help, more, labels)
	}
	s.registry.MustRegister(&outboxState{stats: stats,
		waiting: desc("outbox_waiting",
			"Waiting deliveries: events, statuses, artifacts. Worry when it grows: a recipient does not respond."),
		oldest: desc("outbox_oldest_seconds",
			"Age of the oldest waiting delivery; 0 if none waits. Worry when it is more than a few minutes: the "+
				"log names the recipient."),
		ended: desc("outbox_ended_total",
			"Deliveries by result: done, failed (refused or given up), or dropped (the queue was full). Worry when "+
				"failed or dropped grow: they are not sent again.", "result"),
		retries: desc("outbox_retries_total", "Deliveries that failed and were tried again. Worry when they go on."),
	})
}

// outboxState reads the counts of a box at each scrape.
type outboxState struct {
	stats                           func() outbox.Stats
	waiting, oldest, ended, retries *prometheus.Desc
}

var _ prometheus.Collector = (*outboxState)(nil)

// Describe implements [prometheus.Collector].
func (o *outboxState) Describe(out chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{o.waiting, o.oldest, o.ended, o.retries} {
		out <- one
	}
}

// Collect implements [prometheus.Collector].
func (o *outboxState) Collect(out chan<- prometheus.Metric) {
	s := o.stats()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	age := 0.0
	if !s.Oldest.IsZero() {
		age = time.Since(s.Oldest).Seconds()
	}
	send(o.waiting, prometheus.GaugeValue, float64(s.Waiting))
	send(o.oldest, prometheus.GaugeValue, age)
	send(o.ended, prometheus.CounterValue, float64(s.Done), "done")
	send(o.ended, prometheus.CounterValue, float64(s.Failed), "failed")
	send(o.ended, prometheus.CounterValue, float64(s.Dropped), "dropped")
	send(o.retries, prometheus.CounterValue, float64(s.Retried))
}
