package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/sd"
	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/test/sd/fakeapi"
	"github.com/agentry-dev/agentry/test/sd/strict"
)

const (
	interval   = 250 * time.Millisecond
	podTimeout = time.Second
)

// replica is a running aggregator.
type replica struct {
	server *httptest.Server
	cancel context.CancelFunc
	done   chan struct{}
	// wasReady is set once it served a document.
	wasReady bool
}

// newReplica starts a replica. With a peer, it asks that for pods that do not answer.
func newReplica(api *fakeapi.Server, peer *replica) (*replica, error) {
	log := slog.New(slog.DiscardHandler)
	source, err := discover.NewSlices(discover.SlicesOptions{Config: api.Config(), Namespaces: []string{namespace},
		Log: log})
	if err != nil {
		return nil, err
	}
	options := sd.Options{Source: source, Log: log, Version: "soak", Interval: interval, PodTimeout: podTimeout}
	if peer != nil {
		options.Peers = &sd.Peers{Host: "peers", Port: peer.port(), Resolver: loopback{}}
	}
	a := sd.New(options)
	ctx, cancel := context.WithCancel(context.Background())
	r := &replica{server: httptest.NewServer(a.Handler(nil)), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		a.Run(ctx)
	}()
	return r, nil
}

func (r *replica) stop() {
	r.cancel()
	<-r.done
	http.DefaultClient.CloseIdleConnections()
	r.server.Close()
}

func (r *replica) port() uint16 {
	u, err := url.Parse(r.server.URL)
	if err != nil {
		return 0
	}
	return netip.MustParseAddrPort(u.Host).Port()
}

// loopback is the name of replicas that listen there.
type loopback struct{}

// LookupNetIP implements discover.Resolver.
func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
}

// served returns the targets of the document, as agent/integration@address, and false if there is none. A document that
// a client would refuse is an error.
func (r *replica) served() (map[string]bool, bool, error) {
	response, err := http.Get(r.server.URL + sd.Path)
	if err != nil {
		return nil, false, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode == http.StatusServiceUnavailable {
		return nil, false, err
	}
	groups, err := strict.Read(response.StatusCode, response.Header, body)
	if err != nil {
		return nil, false, fmt.Errorf("a client refuses the document: %w", err)
	}
	out := map[string]bool{}
	for _, g := range groups {
		host, _, _ := strings.Cut(g.Targets[0], ":")
		out[g.Labels["__meta_agentoperator_grafanaagent_name"]+"/"+g.Labels["__meta_agent_integration_name"]+"@"+
			host] = true
	}
	return out, true, nil
}
