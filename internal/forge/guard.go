package forge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// Sites share connections and rate limits between repositories. The zero value is ready for
// use, and safe for concurrent use.
type Sites struct {
	mu         sync.Mutex
	transports map[[sha256.Size]byte]*http.Transport // by how they connect
	meters     map[meterKey]*meter
	maxBytes   int64 // of an answer; 0: MaxBodyBytes
}

type meterKey struct{ api, identity string }

// guard is below the clients: see the package's documentation.
type guard struct {
	next   http.RoundTripper
	api    *url.URL
	header string // that holds the token
	prefix string // before the token
	token  func(context.Context) (string, error)
	meter  *meter
	max    int64 // of an answer
}

var _ http.RoundTripper = (*guard)(nil)

func (s *Sites) guard(cfg Config, at address) (*guard, error) {
	api, err := url.Parse(at.api)
	if err != nil {
		return nil, errors.New("the forge's URL cannot be parsed")
	}
	next, err := s.transport(cfg.Connection)
	if err != nil {
		return nil, fmt.Errorf("forge %s: %w", at.site, err)
	}
	g := &guard{next: next, api: api, header: "Authorization", prefix: "Bearer ", token: cfg.Token, max: cmp.Or(s.maxBytes, MaxBodyBytes)}
	if cfg.Type == gitsync.ForgeGitea {
		g.prefix = "token "
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := meterKey{at.api, cfg.Identity}
	if s.meters == nil {
		s.meters = map[meterKey]*meter{}
	}
	if s.meters[key] == nil {
		s.meters[key] = &meter{host: api.Host}
	}
	g.meter = s.meters[key]
	return g, nil
}

// transport is the one for what connects like this.
func (s *Sites) transport(connection repo.Auth) (*http.Transport, error) {
	text, err := json.Marshal(connection)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.transports[key]; t != nil {
		return t, nil
	}
	t, err := Transport(connection)
	if err != nil {
		return nil, err
	}
	if s.transports == nil {
		s.transports = map[[sha256.Size]byte]*http.Transport{}
	}
	s.transports[key] = t
	return t, nil
}

// Transport is what is used for all that is not Git, over the connection's certificates and
// proxy, or the environment's, with deadlines for each step.
func Transport(connection repo.Auth) (*http.Transport, error) {
	t, err := repo.NewTransport(connection)
	if err != nil {
		return nil, err
	}
	t.ResponseHeaderTimeout = DefaultTimeout
	t.MaxConnsPerHost = 8
	t.MaxResponseHeaderBytes = 64 << 10
	return t, nil
}

// RoundTrip implements http.RoundTripper, but for one thing: an answer that is no success is an
// error, so that it is the same one whichever client asked.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.meter.allows(); err != nil {
		return nil, err
	}
	if !g.sameSite(req.URL) {
		return nil, fmt.Errorf("refused to ask %s for %s", req.URL.Host, g.api.Host)
	}
	var token string
	req = req.Clone(req.Context())
	req.Header.Del("Private-Token") // of GitLab's client, which is given none
	if g.token != nil {
		var err error
		if token, err = g.token(req.Context()); err != nil {
			return nil, fmt.Errorf("access token: %w", err)
		}
	}
	if token = strings.TrimSpace(token); token != "" {
		req.Header.Set(g.header, g.prefix+token)
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	g.meter.read(resp.Header)
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: g.max}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	return nil, g.refusal(req, resp, token)
}

// sameSite reports whether a URL is below the API's host.
func (g *guard) sameSite(u *url.URL) bool {
	return strings.EqualFold(u.Scheme, g.api.Scheme) && strings.EqualFold(u.Host, g.api.Host)
}

// checkRedirect lets a request be sent elsewhere within the site, as when a repository was
// renamed.
func (g *guard) checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case !g.sameSite(req.URL):
		return fmt.Errorf("%s redirects to %s: correct the URL", g.api.Host, req.URL.Host)
	case req.Method != via[0].Method:
		return fmt.Errorf("%s redirects a %s: the repository may have moved, correct its URL", g.api.Host, via[0].Method)
	case len(via) > maxRedirects:
		return fmt.Errorf("%s redirects more than %d times", g.api.Host, maxRedirects)
	}
	return nil
}

// maxErrorBytes is how much is read of an answer that is an error.
const maxErrorBytes = 64 << 10

func (g *guard) refusal(req *http.Request, resp *http.Response, token string) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes)) // what could be read is better than nothing
	_ = resp.Body.Close()                                           // was only read
	api := &APIError{Status: resp.StatusCode, Method: req.Method, Path: req.URL.Path, Message: message(body, token)}
	tooMany := resp.StatusCode == http.StatusTooManyRequests
	if resp.StatusCode == http.StatusForbidden {
		text := strings.ToLower(api.Message)
		limited := []string{"rate limit", "abuse detection"}
		tooMany = resp.Header.Get("Retry-After") != "" || slices.ContainsFunc(limited, func(s string) bool { return strings.Contains(text, s) })
	}
	if tooMany {
		return g.meter.exceeded(resp.Header)
	}
	return api
}

// boundedBody fails where an answer gets too large, instead of ending there.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
