package poll

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Path is where an agent lists the targets of its running integrations.
const Path = "/agent/api/v1/metrics/integrations/sd"

const (
	maxHeaderBytes = 16 << 10
	// maxKeptBuffer is the capacity of the largest buffer that is kept for the next poll.
	maxKeptBuffer = 64 << 10
)

// ClientOptions are the settings of a Client.
type ClientOptions struct {
	// TLS returns the settings for one connection. Without it, the client speaks HTTP.
	TLS func() *tls.Config
	// MaxBytes bounds an answer. A larger one is refused.
	MaxBytes int64
	// UserAgent is the header of that name.
	UserAgent string
	// Path to ask for. Default [Path].
	Path string
	// Token returns the bearer token to send. It is nil for pods.
	Token func() string
}

// Client fetches the answers of pods and the documents of other replicas. It connects only to the given address: no
// proxy, no redirects, no name resolution. The Host of a request is that address too, because the agent uses the Host
// as the address of its targets.
//
// Package net/http writes the requests and reads the answers, but the client makes each connection. With net/http's
// transport a round of 5,000 pods takes 0.71 to 0.74 CPU seconds instead of 0.52 to 0.59; the goal is 0.7. With kept
// connections it takes 0.46, but 224 MB instead of 100 MB; the goal is 128.
type Client struct {
	options ClientOptions
	scheme  string
	header  http.Header
	dial    func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

// NewClient makes a client.
func NewClient(options ClientOptions) *Client {
	if options.Path == "" {
		options.Path = Path
	}
	c := &Client{options: options, scheme: "http", dial: dialTCP}
	c.header = http.Header{"Accept": {"application/json"}, "User-Agent": {options.UserAgent}}
	if options.TLS != nil {
		c.scheme, c.dial = "https", c.dialTLS
	}
	return c
}

// Scheme is http or https.
func (c *Client) Scheme() string { return c.scheme }

// dialTCP connects to addr. The dialer's DialTCP would reserve a local port for each connection, and there are too few
// for thousands of pods.
func dialTCP(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: -1} // The connection ends before a probe would be sent.
	return dialer.DialContext(ctx, "tcp", addr.String())
}

func (c *Client) dialTLS(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	raw, err := dialTCP(ctx, addr)
	if err != nil {
		return nil, err
	}
	config := c.options.TLS()
	if config.ServerName == "" {
		config.ServerName = addr.Addr().String()
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(&Failure{ReasonTLS, err}, raw.Close())
	}
	return conn, nil
}

// Fetch reads the answer of the pod at addr into a buffer. Every error is a [*Failure].
func (c *Client) Fetch(ctx context.Context, addr netip.AddrPort, into *bytes.Buffer) error {
	conn, err := c.dial(ctx, addr)
	if err != nil {
		return transportFailure(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // A past deadline aborts I/O.
	defer stop()
	response, err := c.roundTrip(conn, addr, into)
	if err != nil {
		return transportFailure(ctx, err)
	}
	if failure := c.checkHeader(response); failure != nil {
		return failure
	}
	// Close the connection, not the body: closing the body would read it to its end.
	n, err := into.ReadFrom(io.LimitReader(response.Body, c.options.MaxBytes+1))
	switch {
	case n > c.options.MaxBytes:
		return c.tooLarge()
	case err != nil:
		return transportFailure(ctx, err)
	}
	return nil
}

// roundTrip sends the request and reads the header of the answer. The buffer is empty before and after.
func (c *Client) roundTrip(conn net.Conn, addr netip.AddrPort, buffer *bytes.Buffer) (*http.Response, error) {
	request := http.Request{
		Method: http.MethodGet, URL: &url.URL{Scheme: c.scheme, Host: addr.String(), Path: c.options.Path},
		Header: c.header, Close: true,
	}
	if c.options.Token != nil {
		request.Header = request.Header.Clone()
		request.Header.Set("Authorization", "Bearer "+c.options.Token())
	}
	if err := request.Write(buffer); err != nil {
		return nil, err
	}
	if _, err := buffer.WriteTo(conn); err != nil {
		return nil, err
	}
	buffer.Reset()
	limited := &io.LimitedReader{R: conn, N: maxHeaderBytes}
	response, err := http.ReadResponse(bufio.NewReader(limited), nil)
	limited.N = math.MaxInt64 // The body has a limit of its own.
	return response, err
}

func (c *Client) tooLarge() *Failure {
	return failuref(ReasonTooLarge, "more than %d bytes", c.options.MaxBytes)
}

// checkHeader refuses an answer that cannot be an agent's, before its body is read.
func (c *Client) checkHeader(response *http.Response) *Failure {
	kind, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	charset := parameters["charset"]
	switch {
	case response.StatusCode/100 == 3:
		return failuref(ReasonRedirect, "redirects are not followed: status %d", response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return failuref(ReasonStatus, "status %d", response.StatusCode)
	case err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8"):
		return failuref(ReasonContentType, "content type %.60q is not application/json",
			response.Header.Get("Content-Type"))
	case response.Header.Get("Content-Encoding") != "":
		return failuref(ReasonContentType, "content encoding %.60q was not asked for",
			response.Header.Get("Content-Encoding"))
	case response.ContentLength > c.options.MaxBytes:
		return c.tooLarge()
	}
	return nil
}

// transportFailure finds the reason why the answer is missing or incomplete.
func transportFailure(ctx context.Context, err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok && ctx.Err() == nil {
		return f
	}
	if deadline, ok := ctx.Deadline(); ok && (ctx.Err() != nil || !time.Now().Before(deadline)) {
		return failuref(ReasonTimeout, "no complete answer in time")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return &Failure{ReasonConnect, op.Err}
	}
	return &Failure{ReasonBroken, err}
}

// Failure is the error of a poll.
type Failure struct {
	Reason Reason
	Err    error
}

func failuref(reason Reason, format string, args ...any) *Failure {
	return &Failure{reason, fmt.Errorf(format, args...)}
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Reason is the reason of a failure, as a label value of a metric.
type Reason string

// The reasons.
const (
	ReasonConnect       Reason = "connect"         // nobody listens at the address
	ReasonTimeout       Reason = "timeout"         // no complete answer within the deadline
	ReasonTLS           Reason = "tls"             // no common version or cipher, or an unaccepted certificate
	ReasonBroken        Reason = "broken"          // the connection broke, or the answer is not HTTP
	ReasonRedirect      Reason = "redirect"        // the answer is a redirect
	ReasonStatus        Reason = "status"          // a status other than 200
	ReasonContentType   Reason = "content_type"    // the answer is not plain JSON
	ReasonTooLarge      Reason = "too_large"       // more bytes than the limit
	ReasonMalformed     Reason = "malformed"       // not exactly one JSON array
	ReasonTooManyGroups Reason = "too_many_groups" // more groups than the limit
	ReasonDocumentFull  Reason = "document_full"   // no room in the document for a larger answer
)

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{
		ReasonConnect, ReasonTimeout, ReasonTLS, ReasonBroken, ReasonRedirect, ReasonStatus,
		ReasonContentType, ReasonTooLarge, ReasonMalformed, ReasonTooManyGroups, ReasonDocumentFull,
	}
}
