package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// collector takes traces, and refuses the first few.
type collector struct {
	*httptest.Server
	requests chan *http.Request
	bodies   chan map[string]any
	refuse   atomic.Int32
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{requests: make(chan *http.Request, 100), bodies: make(chan map[string]any, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, err := io.ReadAll(req.Body)
		var body map[string]any
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil {
			t.Error(err)
		}
		if c.refuse.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		c.requests <- req
		c.bodies <- body
	}))
	t.Cleanup(c.Close)
	return c
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, ok := env[name]; return value, ok }
}

// tell has an outcome told, and everything sent.
func tell(t *testing.T, traces *Traces, outcomes ...fleet.Outcome) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	for _, o := range outcomes {
		traces.Passed(ctx, o)
	}
	stop() // what waits is sent once more
	if err := traces.Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestATraceOfAPass(t *testing.T) {
	c := newCollector(t)
	var log bytes.Buffer
	traces, err := NewTraces(lookup(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/otlp/", "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20s3cret,x-tenant=eu",
		"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=prod,service.name=other", "OTEL_SERVICE_NAME": "agentry-eu",
	}), "v1", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	o := passed("prod", &gitsync.Report{
		Commit: id, Sources: []gitsync.SourceReport{{Commit: id}}, Units: make([]gitsync.UnitReport, 3),
		Stages: []gitsync.Stage{{Name: gitsync.StageFetch, Began: time.Unix(1, 0), Ended: time.Unix(2, 0)}, {Name: gitsync.StagePush, Began: time.Unix(2, 0), Ended: time.Unix(3, 5)}},
	}, errors.New("no network"))
	o.Trigger = fleet.ReasonWebhook
	tell(t, traces, fleet.Outcome{After: fleet.Status{Name: "asleep"}}, o)
	req, body := <-c.requests, <-c.bodies
	if req.URL.Path != "/otlp/v1/traces" || req.Header.Get("Authorization") != "Bearer s3cret" || req.Header.Get("X-Tenant") != "eu" || req.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", req.URL, req.Header)
	}
	resource := body["resourceSpans"].([]any)[0].(map[string]any)
	want := map[string]any{"service.name": "agentry-eu", "service.version": "v1", "deployment.environment": "prod"}
	if diff := cmp.Diff(want, attributesOf(resource["resource"])); diff != "" {
		t.Error(diff)
	}
	spans := resource["scopeSpans"].([]any)[0].(map[string]any)["spans"].([]any)
	pass, fetch, push := spans[0].(map[string]any), spans[1].(map[string]any), spans[2].(map[string]any)
	want = map[string]any{"agentry.pipeline": "prod", "agentry.trigger": "webhook", "agentry.source.commit": id, "agentry.output.commit": id, "agentry.units": "3", "agentry.held_objects": "0"}
	if diff := cmp.Diff(want, attributesOf(pass)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"code": 2.0, "message": "no network"}, pass["status"]); diff != "" {
		t.Error(diff)
	}
	if len(pass["traceId"].(string)) != 32 || len(pass["spanId"].(string)) != 16 || pass["parentSpanId"] != nil {
		t.Errorf("%v", pass)
	}
	for name, s := range map[string]map[string]any{"fetch": fetch, "push": push} {
		if s["name"] != name || s["traceId"] != pass["traceId"] || s["parentSpanId"] != pass["spanId"] || s["spanId"] == pass["spanId"] {
			t.Errorf("%s: %v", name, s)
		}
	}
	if push["startTimeUnixNano"] != "2000000000" || push["endTimeUnixNano"] != "3000000005" {
		t.Errorf("%v", push)
	}
	if len(c.bodies) > 0 || log.Len() > 0 {
		t.Errorf("more was sent, or %s", log.String())
	}
}

func attributesOf(of any) map[string]any {
	out := map[string]any{}
	for _, a := range of.(map[string]any)["attributes"].([]any) {
		for _, value := range a.(map[string]any)["value"].(map[string]any) {
			out[a.(map[string]any)["key"].(string)] = value
		}
	}
	return out
}

func TestWhetherThereAreTraces(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		url  string
		fail string
	}{
		"nothing is set":           {},
		"an endpoint for all":      {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces", ""},
		"one for traces":           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://t/x"}, "https://t/x", ""},
		"they are not wanted":      {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, "", ""},
		"nothing is wanted":        {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "TRUE"}, "", ""},
		"no URL":                   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4317"}, "", "no http or https URL"},
		"another protocol":         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "", "over HTTP only"},
		"a certificate that is no": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_CERTIFICATE": "traces_test.go"}, "", "holds no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			traces, err := NewTraces(lookup(test.env), "v1", slog.New(slog.DiscardHandler))
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || (traces == nil) != (test.url == "") || traces != nil && traces.url != test.url {
				t.Errorf("%+v, %v", traces, err)
			}
		})
	}
}

// TestACollectorThatIsAwayShowsNoSecret: it is tried again, and what is logged names neither the
// address nor the headers.
func TestACollectorThatIsAwayShowsNoSecret(t *testing.T) {
	c := newCollector(t)
	c.refuse.Store(1)
	var log bytes.Buffer
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/s3cret", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=s3cret"}
	made := func() *Traces {
		traces, err := NewTraces(lookup(env), "v1", slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		return traces
	}
	tell(t, made(), passed("prod", &gitsync.Report{}, nil), passed("prod", &gitsync.Report{}, nil))
	if len(c.bodies) != 1 {
		t.Errorf("%d traces arrived", len(c.bodies))
	}
	c.Close()
	tell(t, made(), passed("prod", &gitsync.Report{}, nil))
	if text := log.String(); strings.Contains(text, "s3cret") || !strings.Contains(text, "503") || !strings.Contains(text, "refused") {
		t.Error(text)
	}
}
