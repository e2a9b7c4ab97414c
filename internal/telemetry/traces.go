package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

const (
	// traceGrace limits how long waiting traces are sent after Run's context ends.
	traceGrace = 5 * time.Second
	// maxTraceTries limits how long sending a batch is tried.
	maxTraceTries = time.Minute
	// maxErrorBytes limits the part of an error that is logged.
	maxErrorBytes = 300
)

// Traces sends a trace of each pass to an OpenTelemetry collector: a span for the pass, and one for each of its
// stages. It uses OpenTelemetry's own exporter, OTLP over HTTP, which reads the standard environment variables.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	log      *slog.Logger
}

var _ fleet.Observer = (*Traces)(nil)

// NewTraces returns nil if the environment names no collector or disables traces.
func NewTraces(version string, log *slog.Logger) (*Traces, error) {
	address := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if address == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") ||
		os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	// The exporter would only log an invalid address, and send to localhost.
	if u, err := url.Parse(strings.TrimSpace(address)); err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		u.Host == "" {
		return nil, errors.New("the endpoint for traces is not an http or https URL")
	}
	if cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")) == "grpc" {
		return nil, errors.New("traces are sent over HTTP only, so OTEL_EXPORTER_OTLP_PROTOCOL=grpc does not work")
	}
	retry := otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 30 * time.Second,
		MaxElapsedTime: maxTraceTries}
	exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithRetry(retry))
	if err != nil {
		return nil, withoutSecrets(err)
	}
	about, err := resource.New(context.Background(), resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "agentry"),
			attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(quiet{exporter, log}), sdktrace.WithResource(about))
	return &Traces{provider: p, tracer: p.Tracer("github.com/agentry-dev/agentry",
		trace.WithInstrumentationVersion(version)), log: log}, nil
}

// Run waits until ctx ends, and then sends the waiting traces during the grace period. Before that, the exporter sends
// by itself, in batches, from a bounded queue that drops the excess.
func (t *Traces) Run(ctx context.Context) error {
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceGrace)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last traces were not sent", "err", withoutSecrets(err))
	}
	return nil
}

// Passed implements [fleet.Observer].
func (t *Traces) Passed(ctx context.Context, o fleet.Outcome) {
	if !o.IsPass() {
		return
	}
	attributes := []attribute.KeyValue{attribute.String("agentry.pipeline", o.After.Name),
		attribute.String("agentry.trigger", o.Trigger)}
	if r := o.Report; r != nil {
		if len(r.Sources) > 0 { // only the first source, as in hydrator.metadata
			attributes = append(attributes, attribute.String("agentry.source.commit", r.Sources[0].Commit))
		}
		attributes = append(attributes, attribute.String("agentry.output.commit", r.Commit),
			attribute.Int("agentry.units", len(r.Units)), attribute.Int("agentry.held_objects", len(r.Held)))
	}
	ctx, pass := t.tracer.Start(ctx, "pass", trace.WithNewRoot(), trace.WithTimestamp(o.Began),
		trace.WithAttributes(attributes...))
	defer pass.End(trace.WithTimestamp(o.Began.Add(o.Took)))
	if o.Err != nil {
		pass.SetStatus(codes.Error, o.Err.Error())
	}
	if o.Report == nil {
		return
	}
	for _, s := range o.Report.Stages {
		_, stage := t.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Began))
		stage.End(trace.WithTimestamp(s.Ended))
	}
}

// quiet logs failures to send traces, without possible secrets. The SDK would pass the error to a process-wide
// handler.
type quiet struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

// ExportSpans implements [sdktrace.SpanExporter].
func (q quiet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := q.SpanExporter.ExportSpans(ctx, spans); err != nil {
		q.log.Warn("dropped traces that cannot be sent", "spans", len(spans), "err", withoutSecrets(err))
	}
	return nil
}

// urls matches URLs in a text: the path of a collector's URL can be a secret.
var urls = lazyregexp.New(`(https?://)(?:[^/\s"]*@)?([^/?#\s"]*)[^\s"]*`)

// withoutSecrets returns the error without the collector's response, which may repeat headers.
func withoutSecrets(err error) error {
	text, _, _ := strings.Cut(err.Error(), "body:")
	text = urls.ReplaceAllString(strings.TrimRight(text, " (:"), "$1$2")
	return errors.New(strings.ToValidUTF8(text[:min(len(text), maxErrorBytes)], ""))
}
