package githubapp

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/gittest"
)

const secret = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"

func newKey(t *testing.T) (*rsa.PrivateKey, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// fakeAPI answers as the API does. Its answers are by "METHOD path", and begin with a status.
type fakeAPI struct {
	answers map[string]string
	key     *rsa.PublicKey
	asked   sync.Map // how often, *atomic.Int32 by "METHOD path"
	errs    chan error
}

func (g *fakeAPI) count(what string) int32 {
	n, ok := g.asked.Load(what)
	if !ok {
		return 0
	}
	return n.(*atomic.Int32).Load()
}

func (g *fakeAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	what := req.Method + " " + req.URL.Path
	n, _ := g.asked.LoadOrStore(what, new(atomic.Int32))
	n.(*atomic.Int32).Add(1)
	if err := g.verify(req.Header.Get("Authorization")); err != nil {
		select {
		case g.errs <- err:
		default:
		}
	}
	status, body, ok := strings.Cut(g.answers[what], " ")
	if !ok {
		status, body = "404", `{"message":"Not Found"}`
	}
	var code int
	_, _ = fmt.Sscan(status, &code)
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// verify checks the signature as GitHub does.
func (g *fakeAPI) verify(header string) error {
	parts := strings.Split(strings.TrimPrefix(header, "Bearer "), ".")
	if len(parts) != 3 {
		return errors.New("no JWT")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(g.key, crypto.SHA256, digest[:], signature); err != nil {
		return err
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	var claims struct {
		Iat, Exp int64
		Iss      string
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		return err
	}
	if life := time.Duration(claims.Exp-claims.Iat) * time.Second; claims.Iss != "7" || life > 10*time.Minute {
		return fmt.Errorf("claims %s", text)
	}
	return nil
}

// start returns a source, and the API that it asks.
func start(t *testing.T, cfg Config, answers map[string]string) (*Source, *fakeAPI) {
	t.Helper()
	key, text := newKey(t)
	g := &fakeAPI{answers: answers, key: &key.PublicKey, errs: make(chan error, 1)}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	cfg.AppID, cfg.PrivateKey, cfg.URL = 7, text, server.URL
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.http.CloseIdleConnections()
		select {
		case err := <-g.errs:
			t.Errorf("the signature: %v", err)
		default:
		}
	})
	return s, g
}

func made(life time.Duration) string {
	return fmt.Sprintf(`201 {"token":%q,"expires_at":%q,"permissions":{"contents":"write"}}`, secret,
		time.Now().Add(life).UTC().Format(time.RFC3339))
}

const (
	find   = "GET /repos/acme/monitoring/installation"
	make42 = "POST /app/installations/42/access_tokens"
)

func TestATokenIsMadeOnceForAll(t *testing.T) {
	s, g := start(t, Config{Repository: "acme/monitoring"},
		map[string]string{find: `200 {"id":42,"app_id":7}`, make42: made(time.Hour)})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if token, err := s.Token(t.Context()); err != nil || token != secret {
				t.Errorf("got %q, %v", token, err)
			}
		})
	}
	wg.Wait()
	if g.count(find) != 1 || g.count(make42) != 1 {
		t.Errorf("the API was asked %d and %d times, want once", g.count(find), g.count(make42))
	}
}

func TestAnInstallationThatIsGivenIsNotLookedFor(t *testing.T) {
	s, g := start(t, Config{InstallationID: 42, Repository: "acme/monitoring"},
		map[string]string{make42: made(time.Hour)})
	if _, err := s.Token(t.Context()); err != nil || g.count(find) != 0 {
		t.Errorf("got %v, asked %d times", err, g.count(find))
	}
}

// TestTheAPIIsReachedThroughTheProxy asks over TLS, at a host that only the proxy can reach, with its own CA.
func TestTheAPIIsReachedThroughTheProxy(t *testing.T) {
	key, text := newKey(t)
	g := &fakeAPI{key: &key.PublicKey, errs: make(chan error, 1), answers: map[string]string{
		"GET /api/repos/acme/monitoring/installation":  `200 {"id":42}`,
		"POST /api/app/installations/42/access_tokens": made(time.Hour),
	}}
	server := httptest.NewTLSServer(g)
	t.Cleanup(server.Close)
	proxy := gittest.NewProxy(t, server.URL)
	way := httpclient.Connection{
		CAPEM:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		ProxyURL: proxy.URL, ProxyUsername: gittest.ProxyUser, ProxyPassword: gittest.ProxyPassword,
	}
	ask := func() (string, error) {
		s, err := New(Config{AppID: 7, PrivateKey: text, Repository: "acme/monitoring",
			URL: "https://github.example.com/api", Connection: way})
		if err != nil {
			t.Fatal(err)
		}
		defer s.http.CloseIdleConnections()
		return s.Token(t.Context())
	}
	if token, err := ask(); err != nil || token != secret || proxy.Hosts()[0] != "github.example.com:443" {
		t.Errorf("got %q, %v, through the proxy: %q", token, err, proxy.Hosts())
	}
	way.ProxyPassword = "wr0ng-s3cret"
	if _, err := ask(); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)) ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("with a wrong password: %v", err)
	}
}

func TestATokenIsRenewedBeforeItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		life time.Duration
		want int32
	}{
		"an hour":                     {time.Hour, 1},
		"less than the time to renew": {RenewBefore - time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, g := start(t, Config{InstallationID: 42}, map[string]string{make42: made(c.life)})
			for range 2 {
				if _, err := s.Token(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if g.count(make42) != c.want {
				t.Errorf("made %d tokens, want %d", g.count(make42), c.want)
			}
		})
	}
}

// roundTripper answers without a network, so that tests can let time pass.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestATokenIsKeptUntilFiveMinutesBeforeItsEndOnGitHubsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, text := newKey(t)
		s, err := New(Config{AppID: 7, InstallationID: 42, PrivateKey: text})
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		const ahead = 40 * time.Minute // of GitHub's clock before ours
		s.http.Transport = roundTripper(func(*http.Request) (*http.Response, error) {
			calls++
			w := httptest.NewRecorder()
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusCreated)
			_, _ = w.WriteString(strings.TrimPrefix(made(time.Hour+ahead), "201 "))
			return w.Result(), nil
		})
		for i, c := range []struct {
			sleep time.Duration
			calls int
		}{{0, 1}, {55*time.Minute - time.Second, 1}, {time.Second, 2}} {
			time.Sleep(c.sleep)
			if _, err := s.Token(t.Context()); err != nil || calls != c.calls {
				t.Errorf("step %d: %d calls, %v; want %d", i, calls, err, c.calls)
			}
		}
	})
}

func TestASilentAPIIsLeftAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, text := newKey(t)
		s, err := New(Config{AppID: 7, InstallationID: 42, PrivateKey: text})
		if err != nil {
			t.Fatal(err)
		}
		s.http.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		began := time.Now()
		var wg sync.WaitGroup
		for range 3 { // those who wait for another's token, too
			wg.Go(func() {
				if _, err := s.Token(context.Background()); err == nil ||
					!strings.Contains(err.Error(), "no answer within 30s") {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took != Timeout {
			t.Errorf("took %s", took)
		}
	})
}

func TestATokenThatAServerRefusedIsMadeAnew(t *testing.T) {
	s, g := start(t, Config{Repository: "acme/monitoring"},
		map[string]string{find: `200 {"id":42}`, make42: made(time.Hour)})
	token, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Forget("another")
	_, _ = s.Token(t.Context())
	if g.count(make42) != 1 {
		t.Error("another's refusal dropped the token")
	}
	s.Forget(token)
	if _, err := s.Token(t.Context()); err != nil || g.count(make42) != 2 || g.count(find) != 2 {
		t.Errorf("%v; asked %d and %d times", err, g.count(find), g.count(make42))
	}
}

func TestWhatGitHubRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]string
		auth    bool
		want    string
	}{
		"the app is not installed": {nil, true, "find its installation for acme/monitoring"},
		"the key is wrong": {map[string]string{find: `401 {"message":"A JSON web token could not be decoded"}`},
			true, "could not be decoded"},
		"it is suspended": {map[string]string{find: `200 {"id":42}`,
			make42: `403 {"message":"This installation has been suspended"}`}, true, "suspended"},
		"it is down": {map[string]string{find: `502 <html>` + secret}, false, "answers 502"},
		"not JSON": {map[string]string{find: `200 {"id":42}`, make42: `201 ` + secret}, false,
			"not the expected JSON"},
		"no token": {map[string]string{find: `200 {"id":42}`, make42: `201 {}`}, false,
			"has no token"},
		"a token of two lines": {map[string]string{find: `200 {"id":42}`, make42: `201 {"token":"a\nb"}`}, false,
			"has no token"},
		"no installation": {map[string]string{find: `200 {}`}, false, "has none"},
		"as much as fits": {map[string]string{find: `200 ` + strings.Repeat(" ", MaxAnswerBytes)}, false,
			"has none"},
		"one byte more": {map[string]string{find: `200 ` + strings.Repeat(" ", MaxAnswerBytes+1)}, false,
			"too large"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := start(t, Config{Repository: "acme/monitoring"}, c.answers)
			_, err := s.Token(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, transport.ErrAuth) != c.auth {
				t.Errorf("got %v, want %q, refused: %v", err, c.want, c.auth)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}

func TestTheSignatureGoesNowhereElse(t *testing.T) {
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Store(true) }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, elsewhere.URL, http.StatusMovedPermanently)
	}))
	t.Cleanup(server.Close)
	_, text := newKey(t)
	s, err := New(Config{AppID: 7, PrivateKey: text, Repository: "a/b", URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Token(t.Context()); err == nil || leaked.Load() {
		t.Errorf("got %v, leaked %v", err, leaked.Load())
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	key, text := newKey(t)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	good := Config{AppID: 7, InstallationID: 42, PrivateKey: text}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string // empty: it works
	}{
		"as it should be": {func(*Config) {}, ""},
		"a key of PKCS #8": {func(c *Config) {
			c.PrivateKey = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
		}, ""},
		"no app":          {func(c *Config) { c.AppID = 0 }, "ID is not set"},
		"no installation": {func(c *Config) { c.InstallationID = 0 }, "set an installation, or a repository"},
		"half a repository": {func(c *Config) {
			c.InstallationID, c.Repository = 0, "acme"
		}, "set an installation, or a repository"},
		"no PEM": {func(c *Config) { c.PrivateKey = []byte(secret) }, "not an RSA key"},
		"not a key": {func(c *Config) {
			c.PrivateKey = pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: []byte(secret)})
		}, "not an RSA key"},
		"an odd URL":       {func(c *Config) { c.URL = "ftp://x" }, "URL of the API"},
		"a password in it": {func(c *Config) { c.URL = "https://u:" + secret + "@x" }, "URL of the API"},
		"an odd proxy":     {func(c *Config) { c.Connection.ProxyURL = "ftp://x" }, "proxy"},
	} {
		cfg := good
		c.change(&cfg)
		_, err := New(cfg)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
}
