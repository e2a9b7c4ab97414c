package httpclient

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// AnswerTimeout limits the time until a server begins its response.
const AnswerTimeout = 30 * time.Second

// ErrTooLarge means that a response exceeds [Options.MaxAnswerBytes].
var ErrTooLarge = errors.New("the answer is too large")

// Options limit the requests of a client.
type Options struct {
	// Timeout limits a request including redirects and the response. If 0, only the context does.
	Timeout time.Duration
	// MaxAnswerBytes limits the body of a response.
	MaxAnswerBytes int64
	// Redirects limits the redirects that are followed, with the same method and within scheme, host and port. If 0,
	// redirects are returned as responses.
	Redirects int
	// Allow, if not nil, is called with the URL of each request and redirect before connecting; an error refuses it.
	Allow func(*url.URL) error
}

// Pool shares connections between clients with equal [Connection] settings. The zero value is ready to use, and safe
// for concurrent use.
type Pool struct {
	mu         sync.Mutex
	transports map[[sha256.Size]byte]*http.Transport
}

// Client returns a client, without connecting. It returns an error for wrong settings.
func (p *Pool) Client(c Connection, opts Options) (*http.Client, error) {
	t, err := p.transport(c)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &guard{t, opts}, Timeout: opts.Timeout,
		CheckRedirect: checkRedirect(opts.Redirects)}, nil
}

func (p *Pool) transport(c Connection) (*http.Transport, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.transports[key]; t != nil {
		return t, nil
	}
	t, err := c.Transport()
	if err != nil {
		return nil, err
	}
	t.ResponseHeaderTimeout = AnswerTimeout
	t.MaxConnsPerHost = 8
	t.MaxResponseHeaderBytes = 64 << 10
	if p.transports == nil {
		p.transports = map[[sha256.Size]byte]*http.Transport{}
	}
	p.transports[key] = t
	return t, nil
}

// guard enforces the options.
type guard struct {
	*http.Transport
	opts Options
}

var _ http.RoundTripper = (*guard)(nil)

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.opts.Allow != nil {
		if err := g.opts.Allow(req.URL); err != nil {
			return nil, err
		}
	}
	resp, err := g.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, max: g.opts.MaxAnswerBytes, left: g.opts.MaxAnswerBytes}
	return resp, nil
}

// SameSite reports whether two URLs have the same scheme, host and port.
func SameSite(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}

// checkRedirect follows redirects of renamed repositories, but never sends credentials to another site.
func checkRedirect(limit int) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		switch {
		case limit == 0:
			return http.ErrUseLastResponse
		case !SameSite(req.URL, first.URL):
			return fmt.Errorf("%s redirects to %s: correct the URL", first.URL.Host, req.URL.Host)
		case req.Method != first.Method:
			return fmt.Errorf("%s redirects a %s: the repository may have moved, correct its URL", first.URL.Host,
				first.Method)
		case len(via) > limit:
			return fmt.Errorf("%s redirects more than %d times", first.URL.Host, limit)
		}
		return nil
	}
}

// limitedBody fails at the limit, instead of ending there.
type limitedBody struct {
	io.ReadCloser
	max, left int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.tooLarge()
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, b.tooLarge()
	}
	return n, err
}

func (b *limitedBody) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.max)
}

// PlainError removes the method and the URL, which may contain a secret, from an error of net/http.
func PlainError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
