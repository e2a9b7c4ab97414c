package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// site simulates a collector of traces that refuses the first few requests.
type site struct {
	*httptest.Server
	requests chan *http.Request
	bodies   chan *collector.ExportTraceServiceRequest
	refuse   atomic.Int32
	with     int // status
}

func newSite(t *testing.T) *site {
	t.Helper()
	c := &site{with: http.StatusServiceUnavailable, requests: make(chan *http.Request, 100),
		bodies: make(chan *collector.ExportTraceServiceRequest, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if c.refuse.Add(-1) >= 0 {
			http.Error(w, "your key is "+req.Header.Get("X-Key"), c.with)
			return
		}
		body, err := decoded(req)
		if err != nil {
			t.Error(err)
		}
		c.requests <- req
		c.bodies <- body
	}))
	t.Cleanup(c.Close)
	return c
}

func decoded(req *http.Request) (*collector.ExportTraceServiceRequest, error) {
	in := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = unpacked
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var body collector.ExportTraceServiceRequest
	return &body, proto.Unmarshal(text, &body)
}

// setenv sets the environment variables for traces, and removes all others.
func setenv(t *testing.T, env map[string]string) {
	t.Helper()
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
}

func newTraces(t *testing.T, log io.Writer) *Traces {
	t.Helper()
	traces, err := NewTraces("v1", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil || traces == nil {
		t.Fatalf("%v, %v", traces, err)
	}
	return traces
}

// export reports outcomes, and waits until all traces are sent.
func export(t *testing.T, traces *Traces, outcomes ...fleet.Outcome) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	for _, o := range outcomes {
		traces.Passed(ctx, o)
	}
	stop()
	if err := traces.Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestATraceOfAPass(t *testing.T) {
	c := newSite(t)
	var log bytes.Buffer
	setenv(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT":    c.URL + "/otlp/",
		"OTEL_EXPORTER_OTLP_HEADERS":     "Authorization=Bearer%20s3cret,x-tenant=eu",
		"OTEL_RESOURCE_ATTRIBUTES":       "deployment.environment=prod,service.name=other",
		"OTEL_SERVICE_NAME":              "agentry-eu",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
	})
	o := passed("prod", &gitsync.Report{
		Commit: id, Sources: []gitsync.SourceReport{{Commit: id}}, Units: make([]gitsync.UnitReport, 3),
		Stages: []gitsync.Stage{{Name: gitsync.StageFetch, Began: time.Unix(1, 0), Ended: time.Unix(2, 0)},
			{Name: gitsync.StagePush, Began: time.Unix(2, 0), Ended: time.Unix(3, 5)}},
	}, errors.New("no network"))
	o.Trigger = fleet.ReasonWebhook
	export(t, newTraces(t, &log), fleet.Outcome{After: fleet.Status{Name: "asleep"}}, o)
	req, body := <-c.requests, <-c.bodies
	if req.URL.Path != "/otlp/v1/traces" || req.Header.Get("Authorization") != "Bearer s3cret" ||
		req.Header.Get("X-Tenant") != "eu" || req.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%s %v", req.URL, req.Header)
	}
	about := attributesOf(body.ResourceSpans[0].Resource.Attributes)
	for key, want := range map[string]any{"service.name": "agentry-eu", "service.version": "v1",
		"deployment.environment": "prod"} {
		if about[key] != want {
			t.Errorf("the resource has %s=%v, want %v", key, about[key], want)
		}
	}
	spans := map[string]*otlp.Span{}
	for _, s := range body.ResourceSpans[0].ScopeSpans[0].Spans {
		spans[s.Name] = s
	}
	pass, push := spans["pass"], spans["push"]
	if len(spans) != 3 || pass == nil || push == nil || spans["fetch"] == nil {
		t.Fatalf("spans %v", spans)
	}
	want := map[string]any{"agentry.pipeline": "prod", "agentry.trigger": "webhook", "agentry.source.commit": id,
		"agentry.output.commit": id, "agentry.units": int64(3), "agentry.held_objects": int64(0)}
	if diff := cmp.Diff(want, attributesOf(pass.Attributes)); diff != "" {
		t.Error(diff)
	}
	if pass.Status.Code != otlp.Status_STATUS_CODE_ERROR || pass.Status.Message != "no network" ||
		len(pass.ParentSpanId) != 0 {
		t.Errorf("%v", pass)
	}
	for _, name := range []string{"fetch", "push"} {
		if s := spans[name]; !bytes.Equal(s.TraceId, pass.TraceId) || !bytes.Equal(s.ParentSpanId, pass.SpanId) {
			t.Errorf("%s is not below pass %s: %v", name, hex.EncodeToString(pass.SpanId), s)
		}
	}
	if push.StartTimeUnixNano != 2000000000 || push.EndTimeUnixNano != 3000000005 ||
		pass.EndTimeUnixNano-pass.StartTimeUnixNano != 2000000000 {
		t.Errorf("%v, %v", push, pass)
	}
	if len(c.bodies) > 0 || log.Len() > 0 {
		t.Errorf("more was sent, or %s", log.String())
	}
}

func attributesOf(list []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.Key] = v.IntValue
		}
	}
	return out
}

func TestTracesNeedACollector(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		are  bool
		fail string
	}{
		"nothing is set":      {},
		"an endpoint for all": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, true, ""},
		"one for traces":      {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://t/x"}, true, ""},
		"they are not wanted": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c",
			"OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"nothing is wanted": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c",
			"OTEL_SDK_DISABLED": "TRUE"}, false, ""},
		"no URL": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4317"}, false,
			"not an http or https URL"},
		"another protocol": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c",
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "over HTTP only"},
		"attributes of no form": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c",
			"OTEL_RESOURCE_ATTRIBUTES": "a"}, false, "OTEL_RESOURCE_ATTRIBUTES"},
	} {
		t.Run(name, func(t *testing.T) {
			setenv(t, test.env)
			traces, err := NewTraces("v1", slog.New(slog.DiscardHandler))
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || (traces != nil) != test.are {
				t.Errorf("%v, %v", traces, err)
			}
		})
	}
}

// TestACollectorThatIsAwayShowsNoSecret: sending is tried again, and the log shows neither the path of the address nor
// the headers.
func TestACollectorThatIsAwayShowsNoSecret(t *testing.T) {
	c := newSite(t)
	c.refuse.Store(1)
	var log bytes.Buffer
	setenv(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/s3cret",
		"OTEL_EXPORTER_OTLP_HEADERS": "x-key=s3cret"})
	export(t, newTraces(t, &log), passed("prod", &gitsync.Report{}, nil), passed("prod", &gitsync.Report{}, nil))
	if len(c.bodies) != 1 || len((<-c.bodies).ResourceSpans[0].ScopeSpans[0].Spans) != 2 {
		t.Error("the traces did not arrive")
	}
	c.refuse.Store(1)
	c.with = http.StatusForbidden
	export(t, newTraces(t, &log), passed("prod", &gitsync.Report{}, nil))
	c.Close()
	export(t, newTraces(t, &log), passed("prod", &gitsync.Report{}, nil))
	text := log.String()
	if host := strings.TrimPrefix(c.URL,
		"http://"); strings.Contains(text, "s3cret") || strings.Count(text, host) < 2 ||
		!strings.Contains(text, "403 Forbidden") {
		t.Error(text)
	}
}

// TestADeadCollectorDelaysNoPass: the queue is bounded, and drops the excess.
func TestADeadCollectorDelaysNoPass(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	setenv(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL})
	traces := newTraces(t, io.Discard)
	began := time.Now()
	for range 10000 {
		traces.Passed(t.Context(), passed("prod", &gitsync.Report{}, nil))
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("10,000 passes waited for %s", took)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	began = time.Now()
	if err := traces.Run(ctx); err != nil || time.Since(began) > 10*traceGrace {
		t.Errorf("the end took %s: %v", time.Since(began), err)
	}
}
