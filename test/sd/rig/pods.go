// Package rig surrounds the aggregator in tests, measurements and the soak: thousands
// of integration pods in one process, each at an address of its own, that answer as agents do or
// in one of the ways of [Faults]. The API server that lists them is package fakeapi's.
//
// Package isolate makes the addresses: in a network namespace all of 10.0.0.0/8 is this host, so that
// one socket serves any number of pods whose addresses a real cluster could have.
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
	// Port is where all of them listen.
	Port   int32
	server *http.Server
	served sync.WaitGroup

	pods sync.Map // of netip.Addr to *pod
}

// pod is one address.
type pod struct {
	handler atomic.Pointer[http.Handler]
	polls   atomic.Int64
}

// NewPods starts pods that run [Typical] integrations. With a certificate they speak TLS, and
// take clients that the authority knows.
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

// Set says how the pod at an address answers from now on.
func (p *Pods) Set(addr netip.Addr, handler http.Handler) { p.at(addr).handler.Store(&handler) }

// Polls is how often the pod at an address was asked.
func (p *Pods) Polls(addr netip.Addr) int { return int(p.at(addr).polls.Load()) }

func (p *Pods) at(addr netip.Addr) *pod {
	known, _ := p.pods.LoadOrStore(addr, new(pod))
	return known.(*pod)
}

// ServeHTTP is the pod at the address that was dialled.
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

// Addr is the address of the n-th pod.
func Addr(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(1 + n>>16), byte(n >> 8), byte(n)})
}

// Typical are the integrations of pods that are not told what to run.
func Typical() []string { return []string{"agent", "node_exporter", "redis", "mysql"} }

var typical = Runs(Typical()...)

// Runs is a pod that answers as an agent with these integrations does, in the same size.
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

// Changes is a pod whose integrations have a label that is another in each answer.
func Changes(integrations ...string) http.Handler {
	text := strings.ReplaceAll(answer(integrations), `"job"`, `"revision":"REVISION","job"`)
	var revision atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := strconv.FormatInt(revision.Add(1), 10)
		says(w, strings.NewReplacer("HOST", r.Host, "REVISION", n).Replace(text))
	})
}

// Says is a pod that answers so, with HOST for its address.
func Says(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		says(w, strings.ReplaceAll(text, "HOST", r.Host))
	})
}

func says(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// answer is what an agent with the integrations says.
func answer(integrations []string) string {
	groups := make([]string, len(integrations))
	for i, name := range integrations {
		groups[i] = group(name)
	}
	return "[" + strings.Join(groups, ",") + "]"
}

// group is one integration in the answer of an agent, as test/sd/samples has it.
func group(name string) string {
	return fmt.Sprintf(`{"targets":["HOST"],"labels":{"__meta_agent_integration_autoscrape":"0",`+
		`"__meta_agent_integration_instance":"monitoring/%[1]s","__meta_agent_integration_name":"%[1]s",`+
		`"__meta_agentoperator_integration_cr_label_team":"infrastructure","__meta_agentoperator_integration_cr_labelpresent_team":"true",`+
		`"__meta_agentoperator_integration_cr_name":"%[1]s","__meta_agentoperator_integration_cr_namespace":"monitoring",`+
		`"__meta_agentoperator_integration_type":"daemonset","__metrics_path__":"/integrations/%[1]s/metrics",`+
		`"agent_hostname":"HOST","instance":"monitoring/%[1]s","job":"integrations/%[1]s","zone":"zone-1"}}`, name)
}
