// Package fakeapi is an API server for tests with EndpointSlices only: it lists and watches them, forbids namespaces,
// goes down, hangs and forgets its history.
package fakeapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Server is the API server.
type Server struct {
	http *httptest.Server

	mu        sync.Mutex
	version   int
	slices    map[string]*discoveryv1.EndpointSlice
	events    []event
	forgotten int // events up to this version are forgotten
	watches   map[chan struct{}]bool
	forbidden map[string]bool
	away      bool
	hangs     bool
	lists     int
}

// maxEvents is the length of its history.
const maxEvents = 1000

type event struct {
	version int
	kind    string
	object  *discoveryv1.EndpointSlice
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	s := Start()
	t.Cleanup(s.Close)
	return s
}

// Start starts a server.
func Start() *Server {
	s := &Server{version: 1, slices: map[string]*discoveryv1.EndpointSlice{}, watches: map[chan struct{}]bool{},
		forbidden: map[string]bool{}}
	s.http = httptest.NewServer(s)
	return s
}

// Close stops the server.
func (s *Server) Close() {
	s.Hang(false)
	s.Away(true)
	s.http.Close()
}

// Config returns the configuration of a client.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.http.URL} }

// Put adds or replaces a slice.
func (s *Server) Put(slice *discoveryv1.EndpointSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slice = slice.DeepCopy()
	key, kind := slice.Namespace+"/"+slice.Name, "ADDED"
	if s.slices[key] != nil {
		kind = "MODIFIED"
	}
	s.slices[key] = slice
	s.record(kind, slice)
}

// Delete removes a slice.
func (s *Server) Delete(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slice := s.slices[namespace+"/"+name].DeepCopy()
	delete(s.slices, namespace+"/"+name)
	s.record("DELETED", slice)
}

// Forbid forbids a namespace, or allows it again.
func (s *Server) Forbid(namespace string, forbidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden[namespace] = forbidden
	s.wake()
}

// Away cuts all connections and refuses new ones, until it is called with false.
func (s *Server) Away(away bool) {
	s.mu.Lock()
	s.away = away
	s.wake()
	s.mu.Unlock()
	if away {
		s.http.CloseClientConnections()
	}
}

// Hang makes the server accept requests and watches without answering, until it is called with false.
func (s *Server) Hang(hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs = hangs
	s.wake()
}

// Forget makes all present versions too old to watch from.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = s.version
}

// Lists returns the number of answered lists.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func (s *Server) record(kind string, slice *discoveryv1.EndpointSlice) {
	s.version++
	slice.ResourceVersion = strconv.Itoa(s.version)
	s.events = append(s.events, event{s.version, kind, slice})
	if over := len(s.events) - maxEvents; over > 0 {
		s.forgotten = s.events[over-1].version
		s.events = slices.Delete(s.events, 0, over)
	}
	s.wake()
}

func (s *Server) wake() {
	for w := range s.watches {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace := ""
	path := strings.TrimPrefix(r.URL.Path, "/apis/discovery.k8s.io/v1/")
	if rest, ok := strings.CutPrefix(path, "namespaces/"); ok {
		namespace, path, _ = strings.Cut(rest, "/")
	}
	s.mu.Lock()
	away, hangs, forbidden := s.away, s.hangs, s.forbidden[namespace]
	s.mu.Unlock()
	switch {
	case hangs:
		s.wait(r)
		panic(http.ErrAbortHandler)
	case away:
		panic(http.ErrAbortHandler)
	case path != "endpointslices" || r.Method != http.MethodGet ||
		r.URL.Query().Get("labelSelector") != "agentry.dev/sd=integrations":
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
	case forbidden:
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1":
		s.watch(w, r, namespace)
	default:
		s.list(w, namespace)
	}
}

// wait waits while the server hangs.
func (s *Server) wait(r *http.Request) {
	wake, done := s.listen()
	defer done()
	for {
		s.mu.Lock()
		hangs := s.hangs
		s.mu.Unlock()
		if !hangs {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-wake:
		}
	}
}

// listen returns a channel that receives a value after each change, until the function is called.
func (s *Server) listen() (wake chan struct{}, done func()) {
	wake = make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches[wake] = true
	return wake, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, wake)
	}
}

func fail(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(status(code, reason))
}

func status(code int32, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Message: "the test says so", Reason: reason, Code: code,
	}
}

func (s *Server) list(w http.ResponseWriter, namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	list := discoveryv1.EndpointSliceList{TypeMeta: metav1.TypeMeta{Kind: "EndpointSliceList",
		APIVersion: "discovery.k8s.io/v1"}}
	list.ResourceVersion = strconv.Itoa(s.version)
	for _, slice := range s.slices {
		if matches(slice, namespace) {
			list.Items = append(list.Items, *slice)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

func matches(slice *discoveryv1.EndpointSlice, namespace string) bool {
	return (namespace == "" || slice.Namespace == namespace) && slice.Labels["agentry.dev/sd"] == "integrations"
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, namespace string) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	wake, done := s.listen()
	defer done()
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).Flush()
	for {
		var ok bool
		if from, ok = s.send(w, namespace, from); !ok {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-wake:
		}
	}
}

// send sends the events after a version.
func (s *Server) send(w http.ResponseWriter, namespace string, from int) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	encoder := json.NewEncoder(w)
	switch {
	case s.away || s.forbidden[namespace]:
		return from, false
	case s.hangs:
		return from, true
	case from < s.forgotten:
		_ = encoder.Encode(map[string]any{"type": "ERROR",
			"object": status(http.StatusGone, metav1.StatusReasonExpired)})
		return from, false
	}
	for _, e := range s.events {
		if e.version > from && matches(e.object, namespace) {
			e.object.TypeMeta = metav1.TypeMeta{Kind: "EndpointSlice", APIVersion: "discovery.k8s.io/v1"}
			_ = encoder.Encode(map[string]any{"type": e.kind, "object": e.object})
		}
	}
	return s.version, http.NewResponseController(w).Flush() == nil
}

// Slice makes a slice of a GrafanaAgent with a pod at each address, all on one port.
func Slice(namespace, agent, name string, port int32, addresses ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{
			"agentry.dev/sd": "integrations", "agentry.dev/grafanaagent": agent,
			discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, Endpoint(namespace, address))
	}
	return slice
}

// Endpoint makes the endpoint of a pod that is named after its address.
func Endpoint(namespace, address string) discoveryv1.Endpoint {
	yes, pod := true, "pod-"+strings.NewReplacer(".", "-", ":", "-").Replace(address)
	e := discoveryv1.Endpoint{Addresses: []string{address}, NodeName: new(string)}
	*e.NodeName = "node-1"
	e.Conditions = discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes}
	e.TargetRef = podReference(namespace, pod)
	return e
}
