package service

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/internal/delivery"
)

// TestFromCommitToCluster: Flux reports what the service pushed, the API and the metrics say so, and a wrong token is
// refused.
func TestFromCommitToCluster(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	r := overHTTP(t)
	r.Commit("main", input("first"))
	w.pipeline("prod", r.url, "")
	w.options.DeliveryTokenFile = filepath.Join(w.folder, "delivery.token")
	write(t, w.options.DeliveryTokenFile, "the-token\n")
	w.options.Listen = Address{Address: "127.0.0.1:0"}
	w.start()
	w.ready(r.Repo, "first", "prod")
	address := fmt.Sprintf("http://%s/hook/flux", w.line("started")["listen"])
	report := func(token, cluster, message string) int {
		body := fmt.Sprintf(`{"involvedObject": {"kind": "Kustomization", "namespace": "flux-system", "name": "a",
"apiVersion": "kustomize.toolkit.fluxcd.io/v1"}, "severity": "info", "timestamp": "2026-11-21T19:47:28Z",
"reason": "Progressing", "message": %q, "reportingController": "kustomize-controller",
"metadata": {"cluster": %q, "revision": "env/prod@sha1:%s"}}`, message, cluster, r.Head("env/prod"))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if got := report("another", "eu", "applied"); got != 401 {
		t.Errorf("another token got %d", got)
	}
	if got := w.states()["prod"].Delivery; got != nil {
		t.Errorf("something is known before a report: %+v", got)
	}
	for _, cluster := range []string{"eu", "us"} {
		if got := report("the-token", cluster, "Secret/shop/agent-config created"); got != 202 {
			t.Errorf("a report got %d", got)
		}
	}
	if got := report("the-token", "eu", "Health check passed in 2s"); got != 202 {
		t.Errorf("a report got %d", got)
	}
	d := w.states()["prod"].Delivery
	if d == nil || d.Summary() != "applied in 2 of 2 clusters" || d.Healthy != 1 || d.UnappliedUnits != 0 ||
		d.Rows[0].State != delivery.Healthy || d.Rows[0].AppliedAfter == nil {
		t.Errorf("%+v", d)
	}
	metrics := w.metrics()
	for _, want := range []string{`agentry_applied_seconds_count{pipeline="prod"} 2`,
		`agentry_unapplied_units{pipeline="prod"} 0`,
		`agentry_webhook_requests_total{result="accepted",source="flux"} 3`,
		`agentry_webhook_requests_total{result="unauthorized",source="flux"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
