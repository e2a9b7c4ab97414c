package sd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/internal/httpserver"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

// authority issues certificates for a test.
type authority struct {
	*rig.Authority
	t *testing.T
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a, err := rig.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return &authority{a, t}
}

func (a *authority) issue() *tls.Certificate { return a.issueFor(nil) }

func (a *authority) issueFor(change func(*x509.Certificate)) *tls.Certificate {
	a.t.Helper()
	pair, err := a.Issue(change)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

func TestTLSFollowsItsFiles(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	var certificate atomic.Pointer[tls.Certificate]
	certificate.Store(ours.issue())
	var clients atomic.Pointer[x509.CertPool]
	clients.Store(ours.Pool)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	go func() {
		done <- httpserver.Serve(ctx, slog.New(slog.DiscardHandler), time.Minute,
			httpserver.Listener{Listener: listener, Handler: hello, TLS: ServerTLS(certificate.Load, clients.Load)})
	}()
	ask := func(trust *authority, with *tls.Certificate) bool {
		t.Helper()
		config := &tls.Config{RootCAs: trust.Pool}
		if with != nil {
			config.Certificates = []tls.Certificate{*with}
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true,
			ForceAttemptHTTP2: true}}
		response, err := client.Get("https://" + listener.Addr().String())
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.ProtoMajor == 2
	}
	mine, foreign := ours.issue(), theirs.issue()
	if !ask(ours, mine) || ask(ours, nil) || ask(ours, foreign) || ask(theirs, mine) {
		t.Error("not exactly those with a certificate of ours are let in")
	}
	certificate.Store(theirs.issue())
	clients.Store(theirs.Pool)
	if ask(ours, mine) || !ask(theirs, foreign) || ask(theirs, mine) {
		t.Error("new files have no effect")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if ask(theirs, foreign) {
		t.Error("still served")
	}
}

func TestBearer(t *testing.T) {
	token := "first"
	handler := requireBearer(func() string {
		return token
	}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func(authorization string) int {
		request, answer := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	for authorization, want := range map[string]int{
		"Bearer first": 200, "bearer first": 200, "Bearer  first": 200, "Bearer second": 401, "Bearer firs": 401,
		"Bearer": 401, "": 401, "Basic first": 401, "first": 401,
		// anybody:first, anybody:second, first:
		"Basic YW55Ym9keTpmaXJzdA==": 200, "Basic YW55Ym9keTpzZWNvbmQ=": 401, "Basic Zmlyc3Q6": 401,
	} {
		if got := ask(authorization); got != want {
			t.Errorf("%q: %d", authorization, got)
		}
	}
	token = "second"
	if ask("Bearer first") != 401 || ask("Bearer second") != 200 {
		t.Error("a new token has no effect")
	}
}
