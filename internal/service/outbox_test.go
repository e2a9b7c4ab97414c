package service

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestFailedDeliveriesShowInMetricsOnly: if an event receiver is down, pipelines stay ready, and metrics show the
// failed deliveries.
func TestFailedDeliveriesShowInMetricsOnly(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer receiver.Close()
	w := newTestbed(t)
	r := overHTTP(t)
	w.pipeline("prod", r.url, "")
	file, err := os.OpenFile(filepath.Join(w.config, "prod.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("  notify: [{url: " + receiver.URL + "}]\n"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	r.Commit("main", input("first"))
	w.start()
	w.ready(r.Repo, "first", "prod")
	has := func(series string) func() bool {
		return func() bool { return strings.Contains(w.metrics(), "\n"+series+"\n") }
	}
	w.until("an event waits", has(`agentry_outbox_waiting{outbox="events"} 1`))
	if text := w.metrics(); strings.Contains(text, `agentry_outbox_oldest_seconds{outbox="events"} 0`+"\n") ||
		!strings.Contains(text, `agentry_outbox_waiting{outbox="forges"} 0`) ||
		!strings.Contains(text, `agentry_outbox_waiting{outbox="artifacts"} 0`) {
		t.Errorf("metrics of outboxes:\n%s", text)
	}
	up.Store(true)
	w.until("it is told", has(`agentry_outbox_ended_total{outbox="events",result="done"} 1`))
	w.end()
}
