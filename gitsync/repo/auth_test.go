package repo_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/gittest"
)

// newCertificate makes a self-signed certificate and its key, in PEM.
func newCertificate(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	plain, _ := g.ServeHTTP(gittest.HTTPOptions{})
	at, err := url.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := newCertificate(t, "agentry")
	_, otherKey := newCertificate(t, "other")
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(cert)
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(req *httputil.ProxyRequest) {
		req.SetURL(&url.URL{Scheme: at.Scheme, Host: at.Host})
	}})
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	remote := transport.Remote{URL: server.URL + at.Path,
		Auth: transport.Auth{Connection: httpclient.Connection{CAPEM: ca, ClientCertPEM: cert, ClientKeyPEM: key}}}
	fetch(t, open(t, remote, repo.Options{}), repo.Ref{})

	remote.Auth.ClientCertPEM, remote.Auth.ClientKeyPEM = nil, nil
	_, err = open(t, remote, repo.Options{}).Fetch(testContext(t), repo.Ref{})
	wantError(t, err, transport.ErrUnreachable, "certificate required")
	for want, auth := range map[string]httpclient.Connection{
		"not a matching": {ClientCertPEM: cert, ClientKeyPEM: otherKey},
		"needs its key":  {ClientCertPEM: cert},
	} {
		if _, err := repo.Open(t.TempDir(), transport.Remote{URL: remote.URL, Auth: transport.Auth{Connection: auth}},
			repo.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// tokens is a TokenSource that returns another token after each refusal.
type tokens struct {
	mu   sync.Mutex
	list []string
	err  error
}

func (s *tokens) Token(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[0], s.err
}

func (s *tokens) Forget(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[0] == token {
		s.list = s.list[1:]
	}
}

func TestTokensThatRenew(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{User: "x-access-token", Password: "new-s3cret",
		Wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if _, password, _ := req.BasicAuth(); password == "echo-s3cret" {
					http.Error(w, "I do not like "+password+" in "+req.Header.Get("Authorization"), http.StatusTeapot)
					return
				}
				next.ServeHTTP(w, req)
			})
		}})
	source := &tokens{list: []string{"old-s3cret", "new-s3cret"}}
	auth := transport.Auth{Token: source, Identity: "app 7"}
	r := open(t, transport.Remote{URL: url, Auth: auth}, repo.Options{})
	_, err := r.Fetch(testContext(t), repo.Ref{})
	wantError(t, err, transport.ErrAuth)
	fetch(t, r, repo.Ref{})

	source.list = []string{"echo-s3cret"}
	_, err = r.List(testContext(t))
	wantError(t, err, transport.ErrUnreachable, "I do not like *** in Basic ")
	// The user name and colon before it have a multiple of three bytes.
	if strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte("echo-s"))) {
		t.Errorf("the header is shown: %v", err)
	}
	source.err = errors.Join(transport.ErrAuth, errors.New("the app is suspended"))
	_, err = r.List(testContext(t))
	wantError(t, err, transport.ErrAuth, "the app is suspended")

	if _, err := repo.Open(t.TempDir(), transport.Remote{URL: url, Auth: transport.Auth{Token: source}},
		repo.Options{}); err == nil {
		t.Error("a source of tokens without an identity has a cache")
	}
}

// TestSeveralHostKeys: users of Flux and go-git got "key mismatch" for hosts with several keys, of one type or of
// several, listed beside other hosts.
func TestSeveralHostKeys(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	server := gittest.NewSSH(t)
	theirs := strings.TrimSpace(string(server.KnownHosts))
	line := func(address string) string {
		_, public := gittest.NewSSHKey(t)
		return knownhosts.Line([]string{address}, public)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecdsaKey, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string][]string{
		"the key comes second":  {line(server.Address), theirs},
		"the key comes first":   {theirs, line(server.Address)},
		"a key of another type": {knownhosts.Line([]string{server.Address}, ecdsaKey), theirs},
		"other hosts around":    {line("example.com"), theirs, line("[127.0.0.1]:1")},
		"a hashed name": {line(server.Address),
			knownhosts.HashHostname(knownhosts.Normalize(server.Address)) + theirs[strings.Index(theirs, " "):]},
		"several names on a line": {"example.com," + theirs},
		"comments between":        {"# ours", "", theirs + " of 2026"},
	} {
		auth := transport.Auth{SSHKey: server.Key, KnownHosts: []byte(strings.Join(lines, "\n") + "\n")}
		if _, err := open(t, transport.Remote{URL: server.URL(g), Auth: auth}, repo.Options{}).Fetch(testContext(t),
			repo.Ref{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	revoked := "@revoked " + theirs
	auth := transport.Auth{SSHKey: server.Key, KnownHosts: []byte(theirs + "\n" + revoked + "\n")}
	_, err = open(t, transport.Remote{URL: server.URL(g), Auth: auth}, repo.Options{}).Fetch(testContext(t), repo.Ref{})
	wantError(t, err, transport.ErrHostKey)
}
