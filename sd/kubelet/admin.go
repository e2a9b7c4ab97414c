package kubelet

import (
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// AdminHandler serves health and metrics. A replica is ready once there is a leader; the leader itself is ready once it
// has written the Service.
func (k *Keeper) AdminHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(k.status.writes, collector{k.status}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := k.status.notReady(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

func newWrites() *prometheus.CounterVec {
	writes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "agentry_sd_kubelet_writes_total",
		Help: "Writes of the Service and its Endpoints. Worry when it grows while no nodes come or go: something " +
			"else changes them.",
	}, []string{"kind"})
	for _, kind := range []string{"Service", "Endpoints"} {
		writes.WithLabelValues(kind)
	}
	return writes
}

// collector reads the status whenever metrics are scraped.
type collector struct{ *status }

// descriptions describes the metrics that the collector reads from the status.
type descriptions struct{ leader, failing, nodes, synced *prometheus.Desc }

func newDescriptions() descriptions {
	describe := prometheus.NewDesc
	return descriptions{
		leader: describe("agentry_sd_kubelet_leader",
			"Whether this replica keeps the Service, 0 or 1. Worry when no replica does.", nil, nil),
		failing: describe("agentry_sd_kubelet_failing",
			"Whether a part fails, 0 or 1: lease, nodes, service. Worry when it stays 1: the Service no longer "+
				"follows the nodes.", []string{"part"}, nil),
		nodes: describe("agentry_sd_kubelet_nodes",
			"Nodes by state, on the leader: listed, or without_address. Worry about nodes without an address: they "+
				"are not scraped.", []string{"state"}, nil),
		synced: describe("agentry_sd_kubelet_synced_timestamp_seconds",
			"When the leader last checked and, if necessary, updated the Service, which it does every minute. Worry "+
				"when it is minutes ago.", nil, nil),
	}
}

// Describe implements [prometheus.Collector].
func (c collector) Describe(out chan<- *prometheus.Desc) {
	d := newDescriptions()
	for _, one := range []*prometheus.Desc{d.leader, d.failing, d.nodes, d.synced} {
		out <- one
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(out chan<- prometheus.Metric) {
	election, owns := c.elector.Status(), c.elector.Owns()
	c.mu.Lock()
	defer c.mu.Unlock()
	d := newDescriptions()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	leads := c.leading && owns // Otherwise another replica may lead, and the failures are its concern.
	gauge(d.leader, boolValue(leads))
	gauge(d.failing, boolValue(election.Problem != nil), "lease")
	for _, p := range []part{partNodes, partService} {
		gauge(d.failing, boolValue(leads && c.failures[p] != nil), string(p))
	}
	if c.at.IsZero() {
		return
	}
	gauge(d.nodes, float64(c.status.addresses), "listed")
	gauge(d.nodes, float64(len(c.unusable)), "without_address")
	gauge(d.synced, float64(c.at.UnixMilli())/1000)
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
