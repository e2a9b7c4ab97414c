package repo_test

import (
	"bufio"
	"encoding/pem"

	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/gittest"
)

// pipe carries bytes both ways until one side ends.
func pipe(a, b net.Conn) {
	done := make(chan struct{}, 2)
	for _, dir := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(dir[0], dir[1])
			done <- struct{}{}
		}()
	}
	<-done
	_, _ = a.Close(), b.Close()
	<-done
}

// webProxy is an HTTP proxy that asks for user p and password pw.
type webProxy struct{ used atomic.Int32 }

func (p *webProxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	req2 := http.Request{Header: http.Header{"Authorization": req.Header["Proxy-Authorization"]}}
	if user, password, _ := req2.BasicAuth(); user != "p" || password != "pw" {
		w.Header().Set("Proxy-Authenticate", "Basic")
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	p.used.Add(1)
	if req.Method != http.MethodConnect {
		(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, req)
		return
	}
	out, err := net.Dial("tcp", req.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	in, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
	pipe(in, out)
}

// newSOCKS is a SOCKS5 proxy that asks for user p and password pw.
func newSOCKS(t *testing.T, used *atomic.Int32) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				if serveSOCKS(conn, used) != nil {
					_ = conn.Close()
				}
			}()
		}
	}()
	return l.Addr().String()
}

func serveSOCKS(conn net.Conn, used *atomic.Int32) error {
	in := bufio.NewReader(conn)
	take := func() (b []byte) { // what follows its length
		n, _ := in.ReadByte()
		b = make([]byte, n)
		_, _ = io.ReadFull(in, b)
		return b
	}
	_, _ = in.Discard(1)
	take()
	_, _ = conn.Write([]byte{5, 2})
	_, _ = in.Discard(1)
	if user, password := string(take()), string(take()); user != "p" || password != "pw" {
		_, _ = conn.Write([]byte{1, 1})
		return io.EOF
	}
	_, _ = conn.Write([]byte{1, 0})
	request := make([]byte, 10) // version, connect, reserved, IPv4, address, port
	if _, err := io.ReadFull(in, request); err != nil {
		return err
	}
	port := strconv.Itoa(int(request[8])<<8 | int(request[9]))
	out, err := net.Dial("tcp", net.JoinHostPort(net.IP(request[4:8]).String(), port))
	if err != nil {
		return err
	}
	used.Add(1)
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	pipe(conn, out)
	return nil
}

func TestProxies(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	plain, _ := g.ServeHTTP(gittest.HTTPOptions{})
	secured, tls := g.ServeHTTP(gittest.HTTPOptions{TLS: true})
	ssh := gittest.NewSSH(t)
	remotes := map[string]transport.Remote{
		"http": {URL: plain}, "https": {URL: secured,
			Auth: transport.Auth{Connection: httpclient.Connection{CAPEM: tls.CAPEM}}}, "ssh": sshRemote(ssh, g),
	}
	web := &webProxy{}
	http, https := httptest.NewServer(web), httptest.NewTLSServer(web)
	t.Cleanup(http.Close)
	t.Cleanup(https.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw})
	socks := newSOCKS(t, &web.used)
	for _, proxy := range []string{http.URL, https.URL, "socks5://" + socks} {
		for name, remote := range remotes {
			t.Run(strings.SplitN(proxy, ":", 2)[0]+" for "+name, func(t *testing.T) {
				remote.Auth.ProxyURL, remote.Auth.ProxyUsername, remote.Auth.ProxyPassword = proxy, "p", "pw"
				remote.Auth.CAPEM = append(remote.Auth.CAPEM[:len(remote.Auth.CAPEM):len(remote.Auth.CAPEM)], ca...)
				before := web.used.Load()
				fetch(t, open(t, remote, repo.Options{}), repo.Ref{})
				if web.used.Load() == before {
					t.Error("the proxy was not used")
				}
				remote.Auth.ProxyPassword = "wr0ng-s3cret"
				_, err := open(t, remote, repo.Options{}).Fetch(testContext(t), repo.Ref{})
				wantError(t, err, transport.ErrUnreachable)
				if strings.Contains(err.Error(), "s3cret") {
					t.Errorf("the error shows the credential: %v", err)
				}
			})
		}
	}
}

func TestProxiesThatCannotBe(t *testing.T) {
	t.Parallel()
	for proxy, want := range map[string]string{
		"ftp://proxy":              "scheme",
		"proxy:3128":               "scheme",
		"http://":                  "needs a scheme and a host",
		"http://proxy/path":        "needs a scheme and a host",
		"http://u:s3cret@proxy":    "put them into auth",
		"http://pro xy:s3cret@x\n": "cannot be parsed",
	} {
		for _, at := range []transport.Remote{{URL: "https://example.com/r"},
			{URL: "ssh://example.com/r", Auth: sshAuth(t, "example.com:22")}} {
			at.Auth.ProxyURL = proxy
			_, err := repo.Open(t.TempDir(), at, repo.Options{})
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q: got %v, want %q", proxy, err, want)
			}
		}
	}
}

// The client gives up on a proxy whose response does not end.
func TestLongAnswersOfProxiesAreErrors(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20))
	}()
	auth := sshAuth(t, "example.com:22")
	auth.ProxyURL = (&url.URL{Scheme: "http", Host: l.Addr().String()}).String()
	_, err = open(t, transport.Remote{URL: "ssh://example.com/r", Auth: auth}, repo.Options{}).List(testContext(t))
	wantError(t, err, limit.ErrTooLarge)
}
