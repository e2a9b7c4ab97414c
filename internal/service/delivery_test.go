package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/test/gittest"
)

// TestFromCommitToCluster: Flux reports what the service pushed, the API, the metrics and a status of the input commit
// say so, and a wrong token is refused.
func TestFromCommitToCluster(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	r := gittest.NewRepo(t)
	r.Commit("main", input("first"))
	owner := filepath.Dir(r.Dir) // without which a forge has no repository
	w.pipeline("prod", gittest.NewHTTP(t, filepath.Dir(owner), gittest.HTTPOptions{}).URL+"/"+filepath.Base(owner)+"/"+
		filepath.Base(r.Dir), "")
	statuses := w.statuses("prod")
	w.options.DeliveryTokenFile = filepath.Join(w.folder, "delivery.token")
	write(t, w.options.DeliveryTokenFile, "the-token\n")
	w.options.Listen = Address{Address: "127.0.0.1:0"}
	w.start()
	w.ready(r, "first", "prod")
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
	success := "success agentry/prod/applied: applied in 2 of 2 clusters"
	w.until("the input commit has the status", func() bool { return statuses.Load() == r.Head("main")+" "+success })
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

// statuses gives the source of a pipeline a forge, and returns the last commit status about clusters that it got.
func (w *testbed) statuses(pipeline string) *atomic.Value {
	w.t.Helper()
	var last atomic.Value
	forge := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var status struct{ State, Context, Description string }
		_ = json.NewDecoder(r.Body).Decode(&status) // other requests have none
		if _, commit, ok := strings.Cut(r.URL.Path, "/statuses/"); ok && strings.HasSuffix(status.Context, "/applied") {
			last.Store(fmt.Sprintf("%s %s %s: %s", commit, status.State, status.Context, status.Description))
		}
		fmt.Fprint(rw, "{}")
	}))
	w.t.Cleanup(forge.Close)
	write(w.t, filepath.Join(w.folder, "forge.token"), "the-token-of-the-forge\n")
	file := filepath.Join(w.config, pipeline+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	write(w.t, file, strings.Replace(string(text), "      paths: [in]\n", "      paths: [in]\n      forge: {type: github, url: "+
		forge.URL+", tokenFile: "+filepath.Join(w.folder, "forge.token")+"}\n", 1))
	return &last
}
