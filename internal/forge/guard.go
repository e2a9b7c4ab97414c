package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Sites share connections and rate limits between repositories. The zero value is ready to use, and safe for
// concurrent use.
type Sites struct {
	pool     httpclient.Pool
	maxBytes int64 // the limit of a response; 0 means MaxBodyBytes

	mu     sync.Mutex
	meters map[meterKey]*meter
}

type meterKey struct{ api, identity string }

// guard is the transport of the forges' clients: see the package comment.
type guard struct {
	next   http.RoundTripper
	prefix string // of the token in the Authorization header
	token  func(context.Context) (string, error)
	meter  *meter
}

var _ http.RoundTripper = (*guard)(nil)

// client returns the HTTP client for a forge's client.
func (s *Sites) client(k kind, cfg Config, at address) (*http.Client, error) {
	api, err := url.Parse(at.api)
	if err != nil {
		return nil, errors.New("the forge's URL cannot be parsed")
	}
	client, err := s.pool.Client(cfg.Connection, httpclient.Options{
		Timeout: cfg.Timeout, MaxAnswerBytes: cmp.Or(s.maxBytes, MaxBodyBytes), Redirects: maxRedirects,
		Allow: func(u *url.URL) error {
			if !httpclient.SameSite(u, api) {
				return fmt.Errorf("refused to ask %s for %s", u.Host, api.Host)
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("forge %s: %w", at.site, err)
	}
	client.Transport = &guard{next: client.Transport, prefix: k.tokenPrefix, token: cfg.Token,
		meter: s.meter(at.api, cfg.Identity, api.Host)}
	return client, nil
}

// meter returns the meter of a credential at an API.
func (s *Sites) meter(api, identity, host string) *meter {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := meterKey{api, identity}
	if s.meters == nil {
		s.meters = map[meterKey]*meter{}
	}
	if s.meters[key] == nil {
		s.meters[key] = &meter{host: host}
	}
	return s.meters[key]
}

// RoundTrip implements http.RoundTripper, except that an unsuccessful response is an error, so that all clients return
// the same errors.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.meter.allows(); err != nil {
		return nil, err
	}
	var token string
	req = req.Clone(req.Context())
	req.Header.Del("Private-Token") // GitLab's client sets it, without a token
	if g.token != nil {
		var err error
		if token, err = g.token(req.Context()); err != nil {
			return nil, fmt.Errorf("access token: %w", err)
		}
	}
	if token = strings.TrimSpace(token); token != "" {
		req.Header.Set("Authorization", g.prefix+token)
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	g.meter.read(resp.Header)
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	return nil, g.refusal(req, resp, token)
}

// maxErrorBytes limits the part of an error's body that is read.
const maxErrorBytes = 64 << 10

func (g *guard) refusal(req *http.Request, resp *http.Response, token string) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes)) // a part of the message is enough
	_ = resp.Body.Close()                                           // nothing was written
	api := &APIError{Status: resp.StatusCode, Method: req.Method, Path: req.URL.Path, Message: message(body, token)}
	tooMany := resp.StatusCode == http.StatusTooManyRequests
	if resp.StatusCode == http.StatusForbidden {
		text := strings.ToLower(api.Message)
		limited := []string{"rate limit", "abuse detection"}
		tooMany = resp.Header.Get("Retry-After") != "" || slices.ContainsFunc(limited, func(s string) bool {
			return strings.Contains(text, s)
		})
	}
	if tooMany {
		return g.meter.exceeded(resp.Header)
	}
	return api
}
