package sd

import (
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// AdminHandler serves health and metrics, for the kubelet and for Prometheus.
func (a *Aggregator) AdminHandler() http.Handler { return a.admin }

func (a *Aggregator) adminMux(registry *prometheus.Registry) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if a.poller.Document() == nil {
			unavailable(w, a.missing())
			return
		}
		_, _ = io.WriteString(w, "ok\n") // It stays ready even when the API server is down.
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// ReloadFailed counts and logs a changed file that cannot be used.
func (a *Aggregator) ReloadFailed(err error) {
	a.metrics.reloads.Inc()
	a.log.Error("a changed file cannot be used; the previous one stays in force", "err", err)
}
