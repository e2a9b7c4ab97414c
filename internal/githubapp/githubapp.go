// Package githubapp gets the tokens of a GitHub App: it signs requests with the app's private key, finds the
// installation that can read a repository, and gets a token, which is valid for an hour. A token is reused until five
// minutes before it expires.
//
// golang-jwt signs, and go-github calls the API. This package adds what they lack: it signs with GitHub's time if the
// local clock is wrong, and sends one request for all concurrent callers, each with its own deadline.
//
//	source, err := githubapp.New(githubapp.Config{AppID: 7, PrivateKey: pem, Repository: "acme/monitoring"})
//	token, err := source.Token(ctx) // the password of user x-access-token, and a bearer of the API
//
// A [Source] is a transport.TokenSource. Every call has a deadline, responses are limited in size, and no error
// contains the key or a token.
package githubapp

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-github/v88/github"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

const (
	// DefaultURL is the API of github.com. For GitHub Enterprise it is https://HOST/api/v3.
	DefaultURL = "https://api.github.com"

	// Timeout limits one call of Token with all its requests.
	Timeout = 30 * time.Second
	// RenewBefore is how long before its expiry a token is replaced.
	RenewBefore = 5 * time.Minute
	// MaxAnswerBytes limits a response of the API.
	MaxAnswerBytes = 1 << 20
)

// Config is an app and its installation.
type Config struct {
	AppID int64
	// InstallationID is the installation. If 0, it is the one that can read Repository.
	InstallationID int64
	// PrivateKey is the app's RSA key in PEM, as GitHub issues it.
	PrivateKey []byte
	// Repository is owner/name. It is required without an InstallationID.
	Repository string
	// URL is the address of the API. Default DefaultURL.
	URL string
	// Connection configures connections to the API.
	Connection httpclient.Connection
}

// Source gets tokens. It is safe for concurrent use: concurrent callers share one request.
type Source struct {
	config Config
	host   string // host of the API
	key    *rsa.PrivateKey
	http   *http.Client
	busy   chan struct{} // has room for one value; whoever sends it calls the API
	now    func() time.Time

	mu           sync.Mutex
	installation int64 // 0 if unknown
	token        string
	renew        time.Time
}

var _ transport.TokenSource = (*Source)(nil)

// New checks the configuration and returns a Source. It sends no request.
func New(cfg Config) (*Source, error) {
	if cfg.URL == "" {
		cfg.URL = DefaultURL
	}
	cfg.URL = strings.TrimRight(cfg.URL, "/")
	if cfg.AppID <= 0 {
		return nil, errors.New("GitHub App: its ID is not set")
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("GitHub App: the URL of the API is not https")
	}
	owner, name, _ := strings.Cut(cfg.Repository, "/")
	if cfg.InstallationID <= 0 && (owner == "" || name == "" || strings.Contains(name, "/")) {
		return nil, errors.New("GitHub App: set an installation, or a repository owner/name to find it by")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(cfg.PrivateKey) // PKCS #1, as GitHub issues it, or PKCS #8
	if err != nil {
		return nil, errors.New("GitHub App: private key is not an RSA key in PEM")
	}
	client, err := new(httpclient.Pool).Client(cfg.Connection,
		httpclient.Options{MaxAnswerBytes: MaxAnswerBytes, Redirects: 3})
	if err != nil {
		return nil, fmt.Errorf("GitHub App: %w", err)
	}
	return &Source{
		config: cfg, host: u.Host, key: key, installation: cfg.InstallationID, busy: make(chan struct{}, 1),
		now:  time.Now,
		http: client,
	}, nil
}

// Token returns a token that is valid for at least five minutes. Errors wrap transport.ErrAuth if GitHub
// refused the app, its key or its installation.
func (s *Source) Token(ctx context.Context) (string, error) {
	if token := s.current(); token != "" {
		return token, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("no answer within %s", Timeout))
	defer cancel()
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return "", fmt.Errorf("token of GitHub App %d: %w", s.config.AppID, context.Cause(ctx))
	}
	if token := s.current(); token != "" {
		return token, nil // an earlier caller has fetched it
	}
	token, err := s.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("token of GitHub App %d: %w", s.config.AppID, err)
	}
	return token, nil
}

// current returns the current token, or "" if it must be replaced. The age of the token is measured with the monotonic
// clock, so that jumps of the wall clock do not matter.
func (s *Source) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !s.now().Before(s.renew) {
		return ""
	}
	return s.token
}

// Forget drops a token that a server has refused, for example after the app was reinstalled.
func (s *Source) Forget(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token, s.installation = "", s.config.InstallationID
	}
}

// fetch gets a token, and first finds the installation if it is unknown.
func (s *Source) fetch(ctx context.Context) (string, error) {
	s.mu.Lock()
	id := s.installation
	s.mu.Unlock()
	if id == 0 {
		owner, name, _ := strings.Cut(s.config.Repository, "/")
		var found *github.Installation
		_, err := s.call(ctx, func(api *github.AppsService) (res *github.Response, err error) {
			found, res, err = api.GetRepositoryInstallation(ctx, owner, name)
			return res, err
		})
		if err != nil {
			return "", fmt.Errorf("find its installation for %s: %w", s.config.Repository, err)
		}
		if id = found.GetID(); id <= 0 {
			return "", fmt.Errorf("find its installation for %s: the answer has none", s.config.Repository)
		}
	}
	var made *github.InstallationToken
	began := s.now()
	clock, err := s.call(ctx, func(api *github.AppsService) (res *github.Response, err error) {
		made, res, err = api.CreateInstallationToken(ctx, id, nil)
		return res, err
	})
	if err != nil {
		s.mu.Lock()
		s.installation = s.config.InstallationID // the app may have been reinstalled
		s.mu.Unlock()
		return "", fmt.Errorf("installation %d: %w", id, err)
	}
	token := made.GetToken()
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("installation %d: the answer has no token", id)
	}
	if clock.IsZero() {
		clock = began
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installation, s.token = id, token
	s.renew = began.Add(made.GetExpiresAt().Sub(clock) - RenewBefore) // by GitHub's clock: the local one can be wrong
	return token, nil
}
