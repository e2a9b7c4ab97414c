package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// maxRedirects limits the redirects of the first request of a session.
const maxRedirects = 5

// newHTTPClient returns a client for one credential, which shares neither certificates nor connections.
func newHTTPClient(auth Auth) (*http.Client, error) {
	transport, err := auth.Transport()
	if err != nil {
		return nil, err
	}
	return &http.Client{CheckRedirect: checkRedirect, Transport: transport}, nil
}

// checkRedirect allows a redirect of discovery within the host, for example after a repository was renamed. net/http
// sends the credential again, which no other host may get.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) > maxRedirects:
		return errors.New("too many redirects")
	case req.Method != http.MethodGet:
		return errors.New("redirected a request other than discovery")
	case !strings.EqualFold(req.URL.Hostname(), from.Hostname()):
		return fmt.Errorf("redirected to another host, %s: use that URL instead", req.URL.Hostname())
	case req.URL.Scheme != "https" && req.URL.Scheme != from.Scheme:
		return errors.New("redirected from https to http")
	case req.URL.Scheme == from.Scheme && req.URL.Port() != from.Port():
		return errors.New("redirected to another port")
	case !strings.HasSuffix(req.URL.Path, "/info/refs"):
		return errors.New("redirected to a page that is not a Git repository; you may need credentials")
	}
	return nil
}

// httpService speaks Git's smart HTTP protocol.
type httpService struct {
	ctx     context.Context // of the session, whose lifetime this is; see service
	client  *Client
	program Program
	stall   *stallTimer
	base    *url.URL // the URL of the repository after redirects
	date    string   // the header Date of the response with the refs
	bodies  []io.ReadCloser
}

func newHTTPService(ctx context.Context, c *Client, program Program, stall *stallTimer) *httpService {
	base := &url.URL{Scheme: c.at.scheme, Host: c.at.hostPort(), Path: strings.TrimRight(c.at.path, "/")}
	return &httpService{ctx: ctx, client: c, program: program, stall: stall, base: base}
}

func (s *httpService) advertised() (io.Reader, error) {
	u := s.base.JoinPath("info", "refs")
	u.RawQuery = "service=" + string(s.program)
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := s.do(req)
	if err != nil {
		return nil, err
	}
	if t := res.Header.Get("Content-Type"); t != "application/x-"+string(s.program)+"-advertisement" {
		return nil, fmt.Errorf("%w: the server does not speak Git's smart HTTP protocol: its answer has the type %q",
			ErrRepositoryNotFound, t)
	}
	s.date = res.Header.Get("Date")
	final := *res.Request.URL
	final.RawQuery, final.Path, final.RawPath = "", strings.TrimSuffix(final.Path, "/info/refs"), ""
	s.base = &final
	return s.stall.reader(res.Body), nil
}

func (s *httpService) exchange(request net.Buffers) (io.Reader, error) {
	u := s.base.JoinPath(string(s.program))
	var length int64
	for _, part := range request {
		length += int64(len(part))
	}
	// net/http needs a second body if the server has closed the connection.
	body := func() (io.ReadCloser, error) { return io.NopCloser(s.stall.sent(reader(request))), nil }
	first, _ := body() // cannot fail
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, u.String(), first)
	if err != nil {
		return nil, err
	}
	req.ContentLength, req.GetBody = length, body
	req.Header.Set("Content-Type", "application/x-"+string(s.program)+"-request")
	req.Header.Set("Accept", "application/x-"+string(s.program)+"-result")
	res, err := s.do(req)
	if err != nil {
		return nil, err
	}
	return s.stall.reader(res.Body), nil
}

// do sends a request with the credential. A status other than 200 is an error. Close closes the body.
func (s *httpService) do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", capability.DefaultAgent())
	token, err := s.client.authorize(req)
	if err != nil {
		return nil, err
	}
	s.stall.enter()
	res, err := s.client.http.Do(req)
	s.stall.leave(0)
	if err != nil {
		return nil, httpclient.PlainError(err) // the caller names the remote
	}
	s.bodies = append(s.bodies, res.Body)
	if res.StatusCode == http.StatusUnauthorized && token != "" {
		s.client.refused(token)
	}
	if res.StatusCode != http.StatusOK {
		return nil, statusError(res)
	}
	return res, nil
}

// authorize adds the credential to a request, and returns the token if it is one.
func (c *Client) authorize(req *http.Request) (token string, err error) {
	auth := c.auth
	switch {
	case auth.Token != nil:
		if token, err = auth.Token.Token(req.Context()); err != nil {
			return "", err
		}
		c.mu.Lock()
		c.token = token
		c.mu.Unlock()
		req.SetBasicAuth(auth.userOr(""), token)
	case auth.BearerToken != "":
		req.Header.Set("Authorization", "Bearer "+auth.BearerToken)
	case auth.Password != "" || auth.Username != "" || c.at.user != "":
		req.SetBasicAuth(auth.userOr(c.at.user), auth.Password)
	}
	return token, nil
}

// refused tells the TokenSource, if it can forget tokens, that the server refused a token.
func (c *Client) refused(token string) {
	if source, ok := c.auth.Token.(interface{ Forget(token string) }); ok {
		source.Forget(token)
	}
}

// statusError returns the error for a status, with the server's text if it is plain text.
func statusError(res *http.Response) error {
	text := res.Status
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		// If the body breaks off, the error shows its beginning.
		message, _ := io.ReadAll(io.LimitReader(res.Body, maxRemoteText))
		text += ": " + string(message)
	}
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w: %s", ErrAuth, text)
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%w: %s", ErrRepositoryNotFound, text)
	case http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: %s", limit.ErrTooLarge, text)
	}
	return errors.New(text)
}

func (s *httpService) stderr() string { return "" }

// Close returns the connections to the pool.
func (s *httpService) Close() error {
	for _, b := range s.bodies {
		// Reading a short rest lets the connection be reused.
		_, _ = io.CopyN(io.Discard, b, 4<<10)
		_ = b.Close()
	}
	s.bodies = nil
	return nil
}
