package sd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/internal/httpserver"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

// resolves is a name with these addresses. Without any, the name does not exist.
type resolves []string

// LookupNetIP implements discover.Resolver.
func (r resolves) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	if len(r) == 0 {
		return nil, &net.DNSError{IsNotFound: true}
	}
	var out []netip.Addr
	for _, text := range r {
		out = append(out, netip.MustParseAddr(text))
	}
	return out, nil
}

// portOf returns the port of a test's server.
func portOf(t *testing.T, server string) uint16 {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(u.Host).Port()
}

// with starts another replica with these peers, and returns its first document.
func (r *testbed) with(peers *Peers) string {
	r.Helper()
	sd, _ := r.replica(Options{Source: r.source(), Peers: peers})
	first := ""
	r.until("a document", func() bool {
		response, body := r.do(http.MethodGet, sd.URL+Path)
		first = body
		return response.StatusCode == http.StatusOK
	})
	return first
}

// silenced returns a testbed with a replica that knows four pods, two of which no longer answer.
func silenced(t *testing.T) (r *testbed, known string) {
	r = newTestbed(t)
	r.putAll(true, numbered(4))
	r.until("all answer", func() bool { return len(r.targets("")) == 4*len(rig.Typical()) })
	r.pods.Set(rig.Addr(1), rig.FaultNamed("hang").New())
	r.pods.Set(rig.Addr(2), rig.FaultNamed("reset").New())
	return r, r.document(r.sd.URL)
}

func TestANewReplicaGetsAnswersOfSilentPodsFromAPeer(t *testing.T) {
	r, known := silenced(t)
	if got := r.with(nil); got == known {
		t.Error("it knows what silent pods said, from nobody")
	}
	port := portOf(t, r.sd.URL)
	if got := r.with(&Peers{Host: "peers", Port: port, Resolver: resolves{"127.0.0.1"}}); got != known {
		t.Error("it does not know what its peer does")
	}
	for name, peers := range map[string]*Peers{
		"no name":  {Host: "peers", Port: port, Resolver: resolves{}},
		"no peer":  {Host: "peers", Port: 1, Resolver: resolves{"127.0.0.1"}},
		"no token": {Host: "peers", Port: r.guarded(nil, "token"), Resolver: resolves{"127.0.0.1"}},
	} {
		if got := r.with(peers); strings.Count(got, `"targets"`) != 2*len(rig.Typical()) {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}

// TestPeersThatMisbehave: the next peer is asked.
func TestPeersThatMisbehave(t *testing.T) {
	r, known := silenced(t)
	target, err := url.Parse(r.sd.URL)
	if err != nil {
		t.Fatal(err)
	}
	peers := newPods(t, nil)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	var addresses resolves
	for i, fault := range []string{"status 500", "redirect to another host", "two documents", "truncated", "gzip",
		"reset", "cut", "hang"} {
		peers.Set(rig.Addr(i), rig.FaultNamed(fault).New())
		addresses = append(addresses, rig.Addr(i).String())
	}
	peers.Set(rig.Addr(99), proxy)
	addresses = append(addresses, rig.Addr(99).String())
	if got := r.with(&Peers{Host: "peers", Port: uint16(peers.Port), Resolver: addresses}); got != known {
		t.Error("it does not know what its last peer does")
	}
	if n := peers.Polls(rig.Addr(99)); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestALyingPeer has a peer that claims answers which the silent pods could not have given, and lies about others.
func TestALyingPeer(t *testing.T) {
	r, known := silenced(t)
	var lies []string
	owner := `"__meta_agentoperator_grafanaagent_namespace":"ns","__meta_agentoperator_grafanaagent_name":"ga"`
	for _, lie := range []string{
		`{"targets":["169.254.169.254:80"],"labels":{` + owner + `}}`,
		`{"targets":["SILENT"],"labels":{` + owner + `,"__address__":"169.254.169.254:80"}}`,
		`{"targets":["SILENT"],"labels":{` + owner + `,"a-b":"c"}}`,
		`{"targets":["ANSWERS"],"labels":{` + owner + `,"lie":"x"}}`,
	} {
		port := fmt.Sprint(":", r.pods.Port)
		lies = append(lies, strings.NewReplacer("SILENT", rig.Addr(1).String()+port, "ANSWERS",
			rig.Addr(0).String()+port).Replace(lie))
	}
	peers := newPods(t, nil)
	peers.Set(rig.Addr(0), rig.Says("["+strings.Join(lies, ",")+"]"))
	got := r.with(&Peers{Host: "peers", Port: uint16(peers.Port), Resolver: resolves{rig.Addr(0).String()}})
	if strings.Contains(got, "169.254") || strings.Contains(got, "lie") || strings.Contains(got, "a-b") ||
		got == known {
		t.Error(got)
	}
	if _, err := r.read(&http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}},
		got); err != nil {
		t.Error(err)
	}
}

// guarded serves the document of the testbed's replica to requests with the token or the certificate.
func (r *testbed) guarded(config *tls.Config, token string) uint16 {
	r.Helper()
	target, err := url.Parse(r.sd.URL)
	if err != nil {
		r.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	listener, err := (&net.ListenConfig{}).Listen(r.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- httpserver.Serve(ctx, slog.New(slog.DiscardHandler), time.Minute,
			httpserver.Listener{Listener: listener, Handler: requireBearer(func() string {
				return token
			}, proxy), TLS: config})
	}()
	r.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.Error(err)
		}
	})
	return netip.MustParseAddrPort(listener.Addr().String()).Port()
}

// TestPeersHaveOneGuard has replicas that require a token, and a certificate of an authority that did not issue theirs.
func TestPeersHaveOneGuard(t *testing.T) {
	r, known := silenced(t)
	ours, clients, theirs := newAuthority(t), newAuthority(t), newAuthority(t)
	own, other := ours.issue(), theirs.issue()
	port := r.guarded(ServerTLS(func() *tls.Certificate { return own }, func() *x509.CertPool {
		return clients.Pool
	}), "token")
	peers := func(certificate *tls.Certificate, token string) *Peers {
		return &Peers{
			Host: "peers", Port: port, Resolver: resolves{"127.0.0.1"},
			TLS: PeerTLS(func() *tls.Certificate { return certificate }), Token: func() string { return token },
		}
	}
	if got := r.with(peers(own, "token")); got != known {
		t.Error("a replica is not let in")
	}
	if r.with(peers(own, "other")) == known || r.with(peers(other, "token")) == known {
		t.Error("it takes what others say, or others are let in")
	}
}

func TestParsePeers(t *testing.T) {
	for _, text := range []string{"", "a", "a:", ":80", "a:0", "a:x", "a:65536", "a:80:80"} {
		if _, err := ParsePeers(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if p, err := ParsePeers("a.b.svc:80"); err != nil || p.Host != "a.b.svc" || p.Port != 80 {
		t.Error(p, err)
	}
}
