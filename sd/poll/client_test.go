package poll

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func fetch(t *testing.T, c *Client, addr string, timeout time.Duration) (string, Reason) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var into bytes.Buffer
	err := c.Fetch(ctx, netip.MustParseAddrPort(addr), &into)
	if err == nil {
		return into.String(), ""
	}
	failure, ok := errors.AsType[*Failure](err)
	if !ok || failure.Error() == "" {
		t.Fatalf("%T %v", err, err)
	}
	return "", failure.Reason
}

func TestFetch(t *testing.T) {
	const most = 1000
	jsonBody := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}
	}
	typed := func(header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(header, value)
			_, _ = io.WriteString(w, "[]")
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(code)
		}
	}
	tests := map[string]struct {
		pod  http.HandlerFunc
		want Reason
	}{
		"an answer":            {jsonBody("[]"), ""},
		"the largest answer":   {jsonBody(strings.Repeat(" ", most)), ""},
		"an answer too large":  {jsonBody(strings.Repeat(" ", most+1)), ReasonTooLarge},
		"without end":          {endless, ReasonTooLarge},
		"a charset":            {typed("Content-Type", "Application/JSON; charset=UTF-8"), ""},
		"another charset":      {typed("Content-Type", "application/json; charset=latin1"), ReasonContentType},
		"plain text":           {typed("Content-Type", "text/plain"), ReasonContentType},
		"no content type":      {typed("Content-Type", ""), ReasonContentType},
		"compressed":           {typed("Content-Encoding", "gzip"), ReasonContentType},
		"a long header":        {typed("X", strings.Repeat("x", 2*maxHeaderBytes)), ReasonBroken},
		"201":                  {status(201), ReasonStatus},
		"204":                  {status(204), ReasonStatus},
		"404":                  {status(404), ReasonStatus},
		"500":                  {status(500), ReasonStatus},
		"a redirect":           {status(302), ReasonRedirect},
		"a permanent redirect": {status(308), ReasonRedirect},
		"hangs before the header": {func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, ReasonTimeout},
		"dribbles":   {dribbles, ReasonTimeout},
		"breaks off": {breaksOff, ReasonBroken},
		"resets the connection": {func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, ReasonBroken},
		"asked for its own address":  {echoesHost, ""},
		"gets no credentials at all": {func(w http.ResponseWriter, r *http.Request) { requireBare(t, w, r) }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := httptest.NewServer(test.pod)
			defer pod.Close()
			addr := pod.Listener.Addr().String()
			body, got := fetch(t, NewClient(ClientOptions{MaxBytes: most, UserAgent: "test"}), addr,
				500*time.Millisecond)
			if got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
			if name == "asked for its own address" && body != addr {
				t.Errorf("Host was %s, not %s", body, addr)
			}
		})
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for {
		if _, err := io.WriteString(w, strings.Repeat(" ", 4096)); err != nil {
			return
		}
	}
}

func dribbles(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

func breaksOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, "[")
}

func echoesHost(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, r.Host)
}

func requireBare(t *testing.T, w http.ResponseWriter, r *http.Request) {
	for name := range r.Header {
		if name != "Accept" && name != "User-Agent" && name != "Connection" {
			t.Errorf("header %s", name)
		}
	}
	if r.URL.Path != Path || r.Method != http.MethodGet {
		t.Errorf("%s %s", r.Method, r.URL.Path)
	}
	echoesHost(w, r)
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, got := fetch(t, NewClient(ClientOptions{MaxBytes: 9}), l.Addr().String(), time.Second); got != ReasonConnect {
		t.Errorf("reason %q", got)
	}
}

func TestProxiesAreIgnored(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	pod := httptest.NewServer(http.HandlerFunc(echoesHost))
	defer pod.Close()
	if _, got := fetch(t, NewClient(ClientOptions{MaxBytes: 99}), pod.Listener.Addr().String(), time.Second); got !=
		"" {
		t.Errorf("reason %q", got)
	}
}

func TestFetchOverTLS(t *testing.T) {
	pod := httptest.NewUnstartedServer(http.HandlerFunc(echoesHost))
	pod.Config.ErrorLog = nil
	pod.StartTLS()
	defer pod.Close()
	roots := x509.NewCertPool()
	roots.AddCert(pod.Certificate())
	tests := map[string]struct {
		config *tls.Config
		want   Reason
	}{
		"an authority that we trust": {&tls.Config{RootCAs: roots}, ""},
		"the name of the server":     {&tls.Config{RootCAs: roots, ServerName: "example.com"}, ""},
		"another name":               {&tls.Config{RootCAs: roots, ServerName: "example.org"}, ReasonTLS},
		"an unknown authority":       {&tls.Config{RootCAs: x509.NewCertPool()}, ReasonTLS},
		"no common version": {&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12,
			MaxVersion: tls.VersionTLS11}, ReasonTLS},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := NewClient(ClientOptions{MaxBytes: 99, TLS: func() *tls.Config { return test.config.Clone() }})
			if body, got := fetch(t, c, pod.Listener.Addr().String(), 5*time.Second); got != test.want ||
				c.Scheme() != "https" {
				t.Errorf("reason %q, want %q, %s", got, test.want, body)
			}
		})
	}
	plain := httptest.NewServer(http.HandlerFunc(echoesHost))
	defer plain.Close()
	c := NewClient(ClientOptions{MaxBytes: 99, TLS: func() *tls.Config { return &tls.Config{RootCAs: roots} }})
	if _, got := fetch(t, c, plain.Listener.Addr().String(), 5*time.Second); got != ReasonTLS {
		t.Errorf("a pod without TLS: reason %q", got)
	}
}

// counted counts the bytes read from connections.
type counted struct {
	net.Conn
	read *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// TestLittleMoreThanTheLimitIsRead of answers without an end, in the body and in the header.
func TestLittleMoreThanTheLimitIsRead(t *testing.T) {
	for name, pod := range map[string]http.HandlerFunc{
		"body": endless,
		"header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 10<<20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(pod)
			defer server.Close()
			const limit = 1 << 20
			c := NewClient(ClientOptions{MaxBytes: limit})
			var read atomic.Int64
			c.dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				conn, err := dialTCP(ctx, addr)
				return counted{conn, &read}, err
			}
			if _, reason := fetch(t, c, server.Listener.Addr().String(), 5*time.Second); reason == "" {
				t.Error("it is taken")
			}
			if n := read.Load(); n > limit+256<<10 {
				t.Errorf("%d bytes were read", n)
			}
		})
	}
}
