package service

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestPassesAreTraced runs a service with a collector: the pass that pushes has a span for each of its stages. The test
// is not parallel, because it changes the environment of the process.
func TestPassesAreTraced(t *testing.T) {
	got := make(chan *collector.ExportTraceServiceRequest, 100)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var body collector.ExportTraceServiceRequest
		text, err := io.ReadAll(req.Body)
		if err == nil {
			err = proto.Unmarshal(text, &body)
		}
		if err != nil {
			t.Error(err)
			return
		}
		got <- &body
	}))
	defer site.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", site.URL)
	w := newTestbed(t)
	r := overHTTP(t)
	w.pipeline("prod", r.url, "")
	r.Commit("main", input("first"))
	w.start()
	w.ready(r.Repo, "first", "prod")
	w.end() // sends the waiting traces
	spans := (<-got).ResourceSpans[0].ScopeSpans[0].Spans
	var names []string
	root := slices.IndexFunc(spans, func(s *otlp.Span) bool { return s.Name == "pass" })
	for _, s := range spans {
		names = append(names, s.Name)
		if s.Name != "pass" && (root < 0 || !bytes.Equal(s.TraceId, spans[root].TraceId) ||
			!bytes.Equal(s.ParentSpanId, spans[root].SpanId)) {
			t.Errorf("%v", s)
		}
	}
	if want := []string{"fetch", "wait", "render", "push", "pass"}; !slices.Equal(names, want) {
		t.Errorf("spans %q, want %q", names, want)
	}
}
