package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Applied records that a reconciler has applied a commit of a pipeline, some time after its push.
func (s *Service) Applied(pipeline string, since time.Duration) {
	s.applied.WithLabelValues(pipeline).Observe(since.Seconds())
}

// Delivery adds metrics of what clusters have not applied. unapplied returns the number of units by pipeline. It is
// called once.
func (s *Service) Delivery(unapplied func() map[string]int) {
	s.registry.MustRegister(&deliveryState{unapplied, prometheus.NewDesc("agentry_unapplied_units",
		"Units that changed in a commit that a cluster has not reported as applied. Worry when it stays above 0: the "+
			"console names the cluster.", []string{"pipeline"}, nil)})
}

// deliveryState reads the state of clusters at each scrape.
type deliveryState struct {
	unapplied func() map[string]int
	desc      *prometheus.Desc
}

var _ prometheus.Collector = (*deliveryState)(nil)

// Describe implements [prometheus.Collector].
func (d *deliveryState) Describe(out chan<- *prometheus.Desc) { out <- d.desc }

// Collect implements [prometheus.Collector].
func (d *deliveryState) Collect(out chan<- prometheus.Metric) {
	for pipeline, n := range d.unapplied() {
		out <- prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, float64(n), pipeline)
	}
}
