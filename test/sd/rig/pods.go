// Package rig simulates integration pods for tests, measurements and the soak of the aggregator: thousands
// of pods in one process, each at an address of its own, that answer like agents or with one of the
// [Faults]. Package fakeapi has the API server that lists them.
//
// Package isolate makes the addresses: in a network namespace all of 10.0.0.0/8 is this host, so that
// one socket serves any number of pods with addresses as in a real cluster.
package rig

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentry-dev/agentry/sd/poll"
)

// Pods are the pods of a namespace made by Isolated.
type Pods struct {
	// Port is the port of all pods.
	Port   int32
	server *http.Server
	served sync.WaitGroup

	pods sync.Map // of netip.Addr to *pod
}

// pod is the pod at one address.
type pod struct {
	handler atomic.Pointer[http.Handler]
	polls   atomic.Int64
}

// NewPods starts pods that run [Typical] integrations. With a TLS configuration, they speak TLS.
func NewPods(config *tls.Config) (*Pods, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "0.0.0.0:0")
	if err != nil {
		return nil, err
	}
	p := &Pods{Port: int32(listener.Addr().(*net.TCPAddr).Port)}
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	p.served.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

// Close ends all pods.
func (p *Pods) Close() {
	_ = p.server.Close()
	p.served.Wait()
}

// Set sets the handler of the pod at an address.
func (p *Pods) Set(addr netip.Addr, handler http.Handler) { p.at(addr).handler.Store(&handler) }

// Polls returns the number of polls of the pod at an address.
func (p *Pods) Polls(addr netip.Addr) int { return int(p.at(addr).polls.Load()) }

func (p *Pods) at(addr netip.Addr) *pod {
	known, _ := p.pods.LoadOrStore(addr, new(pod))
	return known.(*pod)
}

// ServeHTTP answers for the pod at the dialled address.
func (p *Pods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	addr := netip.MustParseAddrPort(local.String()).Addr()
	pod := p.at(addr)
	pod.polls.Add(1)
	handler := typical
	if set := pod.handler.Load(); set != nil {
		handler = *set
	}
	handler.ServeHTTP(w, r)
}

// Addr returns the address of the n-th pod.
func Addr(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(1 + n>>16), byte(n >> 8), byte(n)})
}

// Typical returns the default integrations of pods.
func Typical() []string { return []string{"agent", "node_exporter", "redis", "mysql"} }

var typical = Runs(Typical()...)

// Runs returns a pod that answers like an agent with these integrations, with an answer of the same size.
func Runs(integrations ...string) http.Handler {
	text := answer(integrations)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != poll.Path {
			http.NotFound(w, r)
			return
		}
		says(w, strings.ReplaceAll(text, "HOST", r.Host))
	})
}

// Changes returns a pod whose integrations have a label that changes with each answer.
func Changes(integrations ...string) http.Handler {
	text := strings.ReplaceAll(answer(integrations), `"job"`, `"revision":"REVISION","job"`)
	var revision atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := strconv.FormatInt(revision.Add(1), 10)
		says(w, strings.NewReplacer("HOST", r.Host, "REVISION", n).Replace(text))
	})
}

// Says returns a pod that answers with a text, in which HOST stands for its address.
func Says(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		says(w, strings.ReplaceAll(text, "HOST", r.Host))
	})
}

func says(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// answer returns the answer of an agent with the integrations.
func answer(integrations []string) string {
	groups := make([]string, len(integrations))
	for i, name := range integrations {
		groups[i] = group(name)
	}
	return "[" + strings.Join(groups, ",") + "]"
}

// group returns one integration in the answer of an agent, as in test/sd/samples.
func group(name string) string {
	return fmt.Sprintf(`{"targets":["HOST"],"labels":{"__meta_agent_integration_autoscrape":"0",`+
		`"__meta_agent_integration_instance":"monitoring/%[1]s","__meta_agent_integration_name":"%[1]s",`+
		`"__meta_agentoperator_integration_cr_label_team":"infrastructure","__meta_agentoperator_integration_cr_labelpresent_team":"true",`+
		`"__meta_agentoperator_integration_cr_name":"%[1]s","__meta_agentoperator_integration_cr_namespace":"monitoring",`+
		`"__meta_agentoperator_integration_type":"daemonset","__metrics_path__":"/integrations/%[1]s/metrics",`+
		`"agent_hostname":"HOST","instance":"monitoring/%[1]s","job":"integrations/%[1]s","zone":"zone-1"}}`, name)
}
