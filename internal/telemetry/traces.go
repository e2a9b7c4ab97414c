package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/notify/outbox"
)

const (
	// DefaultTraceTimeout bounds a request to a collector; OTEL_EXPORTER_OTLP_TIMEOUT sets another.
	DefaultTraceTimeout = 10 * time.Second
	// maxAnswerBytes is how much of a collector's answer is read.
	maxAnswerBytes = 64 << 10
)

// Traces sends a trace of each pass to an OpenTelemetry collector: a span for the pass, and one
// for each of its stages. It speaks OTLP over HTTP in its JSON encoding, and is set up by the
// variables that OpenTelemetry's own exporters know.
type Traces struct {
	url      string
	header   http.Header
	resource []attribute
	version  string
	client   *http.Client
	box      *outbox.Box
}

var _ fleet.Observer = (*Traces)(nil)

// NewTraces reads the environment. It is nil if that names no collector, or wants no traces.
func NewTraces(getenv func(string) (string, bool), version string, log *slog.Logger) (*Traces, error) {
	env := func(name string) string {
		value, _ := getenv(name)
		return strings.TrimSpace(value)
	}
	otlp := func(name string) string {
		return cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_"+name), env("OTEL_EXPORTER_OTLP_"+name))
	}
	address := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := env("OTEL_EXPORTER_OTLP_ENDPOINT"); address == "" && base != "" {
		address = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if address == "" || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the endpoint for traces is no http or https URL")
	}
	if protocol := otlp("PROTOCOL"); protocol == "grpc" {
		return nil, errors.New("traces are sent over HTTP only, not by OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	}
	t := &Traces{url: address, header: http.Header{}, version: version}
	for key, value := range pairs(otlp("HEADERS")) {
		t.header.Set(key, value)
	}
	attributes := pairs(env("OTEL_RESOURCE_ATTRIBUTES"))
	attributes["service.name"] = cmp.Or(env("OTEL_SERVICE_NAME"), attributes["service.name"], "agentry")
	attributes["service.version"] = version
	for key, value := range attributes {
		t.resource = append(t.resource, text(key, value))
	}
	timeout := DefaultTraceTimeout
	if millis, err := strconv.Atoi(otlp("TIMEOUT")); err == nil && millis > 0 {
		timeout = time.Duration(millis) * time.Millisecond
	}
	if t.client, err = traceClient(otlp("CERTIFICATE")); err != nil {
		return nil, err
	}
	t.box = outbox.New(outbox.Options{Workers: 1, Timeout: timeout, MaxAge: time.Minute, Log: log})
	return t, nil
}

// pairs reads key=value,key=value, percent-encoded, as OpenTelemetry writes lists.
func pairs(list string) map[string]string {
	out := map[string]string{}
	for one := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(one, "=")
		if decoded, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil && strings.TrimSpace(key) != "" {
			out[strings.TrimSpace(key)] = decoded
		}
	}
	return out
}

func traceClient(caFile string) (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", caFile)
		}
	}
	// The headers may hold a secret, which must not go elsewhere.
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: noRedirect}, nil
}

// Run sends traces until ctx ends, and then what waits.
func (t *Traces) Run(ctx context.Context) error {
	defer t.client.CloseIdleConnections()
	return t.box.Run(ctx)
}

// Stats count what was sent.
func (t *Traces) Stats() outbox.Stats { return t.box.Stats() }

// Passed implements [fleet.Observer].
func (t *Traces) Passed(_ context.Context, o fleet.Outcome) {
	if !o.IsPass() {
		return
	}
	body, err := json.Marshal(t.trace(o))
	if err != nil {
		return // it holds nothing that does not encode
	}
	t.box.Put(outbox.Job{Lane: "traces", What: "trace", Pipeline: o.After.Name, Do: func(ctx context.Context) error { return t.send(ctx, body) }})
}

func (t *Traces) send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return outbox.Permanent(errors.New("the endpoint for traces cannot be asked"))
	}
	req.Header = t.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	answer, err := t.client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL, which may hold a secret
		}
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswerBytes)); err != nil {
		return err
	}
	switch code := answer.StatusCode; {
	case code < 300:
		return nil
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return fmt.Errorf("the collector answered %s", answer.Status)
	default:
		return outbox.Permanent(fmt.Errorf("the collector answered %s", answer.Status))
	}
}

// newID is a random identity of so many bytes.
func newID(size int) string {
	id := make([]byte, size)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}
