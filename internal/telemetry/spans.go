package telemetry

import (
	"strconv"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// What follows is OTLP's ExportTraceServiceRequest in its JSON encoding, as far as it is used:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.

type traceRequest struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	ParentID   string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Status     *spanStatus `json:"status,omitempty"`
}

type spanStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

type attribute struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type anyValue struct {
	String *string `json:"stringValue,omitempty"`
	Int    *string `json:"intValue,omitempty"` // 64 bits are a text in this encoding
}

func text(key, v string) attribute { return attribute{key, anyValue{String: &v}} }

func number(key string, v int) attribute {
	decimal := strconv.Itoa(v)
	return attribute{key, anyValue{Int: &decimal}}
}

const (
	spanKindInternal = 1
	spanStatusError  = 2
)

// trace is that of one pass.
func (t *Traces) trace(o fleet.Outcome) traceRequest {
	pass := span{
		TraceID: newID(16), SpanID: newID(8), Name: "pass", Kind: spanKindInternal,
		Start: nanos(o.Began), End: nanos(o.Began.Add(o.Took)),
		Attributes: []attribute{text("agentry.pipeline", o.After.Name), text("agentry.trigger", o.Trigger)},
	}
	if o.Err != nil {
		pass.Status = &spanStatus{spanStatusError, o.Err.Error()}
	}
	spans := []span{pass}
	if r := o.Report; r != nil {
		if len(r.Sources) > 0 { // of several the first stands for all, as in hydrator.metadata
			spans[0].Attributes = append(spans[0].Attributes, text("agentry.source.commit", r.Sources[0].Commit))
		}
		spans[0].Attributes = append(spans[0].Attributes, text("agentry.output.commit", r.Commit), number("agentry.units", len(r.Units)), number("agentry.held_objects", len(r.Held)))
		for _, s := range r.Stages {
			spans = append(spans, span{
				TraceID: pass.TraceID, SpanID: newID(8), ParentID: pass.SpanID, Name: s.Name, Kind: spanKindInternal,
				Start: nanos(s.Began), End: nanos(s.Ended),
			})
		}
	}
	return traceRequest{[]resourceSpans{{resource{t.resource}, []scopeSpans{{scope{"github.com/agentry-dev/agentry", t.version}, spans}}}}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
