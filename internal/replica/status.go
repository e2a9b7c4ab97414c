package replica

import "github.com/prometheus/client_golang/prometheus"

// Describe implements [prometheus.Collector].
func (r *Replica) Describe(out chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(r, out)
}

// Collect implements [prometheus.Collector].
func (r *Replica) Collect(out chan<- prometheus.Metric) {
	s := r.elector.Status()
	number := map[bool]int{true: 1}
	for _, g := range []struct {
		name, help string
		value      int
	}{
		{"agentry_replica_active", "1 while this replica makes the passes of all pipelines. Worry when no replica " +
			"has 1 for more than half a minute: nobody makes passes.", number[s.Active]},
		{"agentry_replica_connected", "1 while this replica can read the Lease, and renew it if it is active. At 0 " +
			"an active one still makes passes, but posts nothing: no comments, statuses, events, tags. Worry when it " +
			"stays 0.", number[s.Connected]},
		{"agentry_replica_waiting_triggers",
			"Triggers that are not forwarded to the active replica yet. Worry when it grows: the API server accepts " +
				"no writes.", s.Waiting},
	} {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, nil, nil), prometheus.GaugeValue,
			float64(g.value))
	}
}

var _ prometheus.Collector = (*Replica)(nil)
