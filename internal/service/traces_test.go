package service

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestPassesAreTraced runs a service with a collector: the pass that pushes has a span for each of
// its stages.
func TestPassesAreTraced(t *testing.T) {
	t.Parallel()
	type span struct{ Name, TraceID, SpanID, ParentSpanID string }
	got := make(chan []span, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var body struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			t.Error(err)
			return
		}
		got <- body.ResourceSpans[0].ScopeSpans[0].Spans
	}))
	defer collector.Close()
	w := newWorld(t)
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}
	w.options.Getenv = func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	r := overHTTP(t)
	w.pipeline("prod", r.url, "")
	r.Commit("main", input("first"))
	w.start()
	w.ready(r.Repo, "first", "prod")
	w.end() // sends what waits
	var names []string
	spans := <-got
	for _, s := range spans {
		names = append(names, s.Name)
		if s.TraceID != spans[0].TraceID || s.Name != "pass" && s.ParentSpanID != spans[0].SpanID {
			t.Errorf("%+v", s)
		}
	}
	if want := []string{"pass", "fetch", "wait", "render", "push"}; !slices.Equal(names, want) {
		t.Errorf("spans %q, want %q", names, want)
	}
}
