package gittest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// The credential that a Proxy requires.
const (
	ProxyUser     = "p"
	ProxyPassword = "pw"
)

// Proxy is an HTTP proxy, for plain requests and for tunnels. It connects every request to one server, so that tests
// can make up hosts that are reachable only through the proxy.
type Proxy struct {
	URL    string
	server string // host and port

	mu    sync.Mutex
	hosts []string
}

// NewProxy starts a proxy in front of a server.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: at.Host}
	front := httptest.NewServer(p)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	p.URL = front.URL
	return p
}

// Hosts returns the requested hosts in order.
func (p *Proxy) Hosts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.hosts...)
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	asks := http.Request{Header: http.Header{"Authorization": req.Header["Proxy-Authorization"]}}
	if user, password, _ := asks.BasicAuth(); user != ProxyUser || password != ProxyPassword {
		w.Header().Set("Proxy-Authenticate", "Basic")
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	p.mu.Lock()
	p.hosts = append(p.hosts, req.Host)
	p.mu.Unlock()
	if req.Method == http.MethodConnect {
		p.tunnel(w)
		return
	}
	(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Host = p.server }}).ServeHTTP(w, req)
}

func (p *Proxy) tunnel(w http.ResponseWriter) {
	out, err := net.Dial("tcp", p.server)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	in, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = out.Close()
		return
	}
	_, _ = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_, _ = in.Close(), out.Close() // one end is enough
		})
	}
	both.Wait()
}
