package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

// transport sends the credentials of a source only to its own site.
type transport struct {
	site               *url.URL
	own, elsewhere     http.RoundTripper
	username, password string
}

var _ http.RoundTripper = (*transport)(nil)

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !httpclient.SameSite(req.URL, t.site) {
		if req.URL.Scheme != "https" && t.site.Scheme != "http" {
			return nil, fmt.Errorf("%s leads to %s, which has no TLS", t.site.Host, req.URL.Host)
		}
		return t.elsewhere.RoundTrip(req)
	}
	if t.username+t.password != "" && req.Header.Get("Authorization") == "" {
		req = req.Clone(req.Context())
		req.SetBasicAuth(t.username, t.password)
	}
	return t.own.RoundTrip(req)
}

// client returns an HTTP client for a source.
func (s *Store) client(ctx context.Context, of Request, maxBytes int64) (*http.Client, error) {
	site, err := of.site()
	if err != nil {
		return nil, err
	}
	if site.Scheme == "oci" {
		site.Scheme = "https"
		if of.Insecure {
			site.Scheme = "http"
		}
	}
	opts := httpclient.Options{MaxAnswerBytes: maxBytes}
	own, err := s.pool.Client(of.Connection, opts)
	if err != nil {
		return nil, err
	}
	// Other sites get neither the client certificate nor the proxy's credentials, and a public site may only redirect
	// to public addresses.
	other := of.Connection
	other.ClientCertPEM, other.ClientKeyPEM = nil, nil
	other.PublicOnly = s.isPublic(ctx, site.Hostname())
	elsewhere, err := s.pool.Client(other, opts)
	if err != nil {
		return nil, err
	}
	t := &transport{site: site, own: own.Transport, elsewhere: elsewhere.Transport}
	if !of.isOCI() { // the registry library sends its own
		t.username, t.password = of.Username, of.Password
	}
	return &http.Client{Transport: t, Timeout: s.opts.Timeout}, nil
}

// isPublic reports whether a host has a public address. An unknown host counts as public, which is stricter.
func (s *Store) isPublic(ctx context.Context, host string) bool {
	addresses, err := s.lookup(ctx, "ip", host)
	if err != nil || len(addresses) == 0 {
		return true
	}
	return slices.ContainsFunc(addresses, httpclient.IsPublic)
}

// lookup resolves the addresses of a host.
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

// download fetches a URL.
func download(ctx context.Context, client *http.Client, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, errors.New("the address of the chart is not a URL")
	}
	req.Header.Set("User-Agent", "agentry")
	body, err := answer(client, req)
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return nil, tooLate(late, req.URL.Host, client.Timeout)
	}
	return body, httpclient.PlainError(err)
}

// tooLate says which limit of time a request exceeded, which only the text of the error tells.
func tooLate(err net.Error, host string, limit time.Duration) error {
	switch text := err.Error(); {
	case strings.HasSuffix(text, "timeout awaiting response headers"):
		return fmt.Errorf("%s does not begin its answer within %s", host, httpclient.AnswerTimeout)
	case strings.HasSuffix(text, "TLS handshake timeout"), strings.HasSuffix(text, "i/o timeout"): // shorter ones
		return httpclient.PlainError(err)
	}
	return fmt.Errorf("%s takes longer than %s", host, limit)
}

// statusError is a response with a status other than 200.
type statusError struct {
	text string
	code int
}

// Error implements error.
func (e *statusError) Error() string { return e.text }

func answer(client *http.Client, req *http.Request) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{req.URL.Host + " answers " + resp.Status, resp.StatusCode}
	}
	return io.ReadAll(resp.Body)
}
