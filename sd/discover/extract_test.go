package discover

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
	"github.com/agentry-dev/agentry/test/sd/fakeapi"
)

func TestExtract(t *testing.T) {
	yes, no := true, false
	udp, other := corev1.ProtocolUDP, int32(9)
	first := func(change func(*discoveryv1.Endpoint)) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) { change(&s.Endpoints[0]) }
	}
	addressed := func(a string) func(*discoveryv1.EndpointSlice) {
		return first(func(e *discoveryv1.Endpoint) { e.Addresses = []string{a} })
	}
	tests := map[string]struct {
		change  func(*discoveryv1.EndpointSlice)
		counts  bool
		pods    []string // of 10.0.0.1 and 10.0.0.2
		ignored int
	}{
		"a slice": {func(*discoveryv1.EndpointSlice) {}, true, []string{"10.0.0.1:8080", "10.0.0.2:8080"},
			0},
		"written by hand": {func(s *discoveryv1.EndpointSlice) {
			delete(s.Labels, discoveryv1.LabelManagedBy)
		}, false, nil, 0},
		"by another manager": {func(s *discoveryv1.EndpointSlice) {
			s.Labels[discoveryv1.LabelManagedBy] = "me"
		}, false, nil, 0},
		"without an agent": {func(s *discoveryv1.EndpointSlice) { delete(s.Labels, AgentLabel) }, false, nil, 0},
		"of another kind":  {func(s *discoveryv1.EndpointSlice) { s.Labels[Label] = "logs" }, false, nil, 0},
		"host names": {func(s *discoveryv1.EndpointSlice) {
			s.AddressType = discoveryv1.AddressTypeFQDN
		}, true, nil, 1},
		"no ports":     {func(s *discoveryv1.EndpointSlice) { s.Ports = nil }, true, nil, 1},
		"no endpoints": {func(s *discoveryv1.EndpointSlice) { s.Ports, s.Endpoints = nil, nil }, true, nil, 0},
		"two ports": {func(s *discoveryv1.EndpointSlice) {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Port: &other})
		}, true, nil, 1},
		"a UDP port too": {func(s *discoveryv1.EndpointSlice) {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Port: &other, Protocol: &udp})
		}, true, []string{"10.0.0.1:8080", "10.0.0.2:8080"}, 0},
		"no pod": {first(func(e *discoveryv1.Endpoint) {
			e.TargetRef = nil
		}), true, []string{"10.0.0.2:8080"}, 1},
		"a node": {first(func(e *discoveryv1.Endpoint) {
			e.TargetRef.Kind = "Node"
		}), true, []string{"10.0.0.2:8080"}, 1},
		"another namespace": {first(func(e *discoveryv1.Endpoint) {
			e.TargetRef.Namespace = "kube-system"
		}), true, []string{"10.0.0.2:8080"}, 1},
		"loopback":           {addressed("127.0.0.1"), true, []string{"10.0.0.2:8080"}, 1},
		"IPv6 loopback":      {addressed("::1"), true, []string{"10.0.0.2:8080"}, 1},
		"mapped loopback":    {addressed("::ffff:127.0.0.1"), true, []string{"10.0.0.2:8080"}, 1},
		"a metadata service": {addressed("169.254.169.254"), true, []string{"10.0.0.2:8080"}, 1},
		"IPv6 link-local":    {addressed("fe80::1"), true, []string{"10.0.0.2:8080"}, 1},
		"unspecified":        {addressed("0.0.0.0"), true, []string{"10.0.0.2:8080"}, 1},
		"multicast":          {addressed("224.0.0.1"), true, []string{"10.0.0.2:8080"}, 1},
		"broadcast":          {addressed("255.255.255.255"), true, []string{"10.0.0.2:8080"}, 1},
		"a zone":             {addressed("fd00::1%eth0"), true, []string{"10.0.0.2:8080"}, 1},
		"a name":             {addressed("localhost"), true, []string{"10.0.0.2:8080"}, 1},
		"no address": {first(func(e *discoveryv1.Endpoint) {
			e.Addresses = nil
		}), true, []string{"10.0.0.2:8080"}, 1},
		"IPv6": {addressed("fd00::1"), true, []string{"[fd00::1]:8080", "10.0.0.2:8080"}, 0},
		"not ready": {first(func(e *discoveryv1.Endpoint) {
			e.Conditions.Serving = &no
		}), true, []string{"10.0.0.1:8080", "10.0.0.2:8080"}, 0},
		"ending but serving": {first(func(e *discoveryv1.Endpoint) {
			e.Conditions.Terminating = &yes
		}), true, []string{"10.0.0.1:8080", "10.0.0.2:8080"}, 0},
		"ending, not serving": {first(func(e *discoveryv1.Endpoint) {
			e.Conditions.Terminating, e.Conditions.Serving = &yes, &no
		}), true, []string{"10.0.0.2:8080"}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			slice := fakeapi.Slice("ns", "ga", "s", 8080, "10.0.0.1", "10.0.0.2")
			test.change(slice)
			p, counts := extract(slice)
			var pods []string
			for _, pod := range p.pods {
				pods = append(pods, pod.Addr.String())
			}
			if counts != test.counts || len(p.ignored) != test.ignored {
				t.Errorf("counts %v, ignored %q", counts, p.ignored)
			}
			if diff := cmp.Diff(test.pods, pods); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExpectations(t *testing.T) {
	got := expected(map[string]string{
		DaemonSetPrefix + "node_exporter": "1", DaemonSetPrefix + "redis": "20", DeploymentPrefix + "mysql": "3",
		DaemonSetPrefix + "none": "0", DaemonSetPrefix + "less": "-1", DaemonSetPrefix + "much": "10001",
		DaemonSetPrefix + "word": "many",
	}, DaemonSetPrefix)
	if diff := cmp.Diff(map[string]int{"node_exporter": 1, "redis": 20}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPodInSeveralSlicesIsOnePod(t *testing.T) {
	owner := merge.Owner{Namespace: "ns", Name: "ga"}
	pod := func(uid, addr string, ready bool) poll.Pod {
		return poll.Pod{Owner: owner, UID: uid, Name: uid, Addr: netip.MustParseAddrPort(addr), Ready: ready}
	}
	six := part{agent: Agent{Owner: owner, DaemonSet: map[string]int{"redis": 1}},
		pods: []poll.Pod{pod("a", "[fd00::1]:80", true), pod("b", "[fd00::2]:80", false)}}
	four := part{agent: Agent{Owner: owner, DaemonSet: map[string]int{"redis": 2}},
		pods: []poll.Pod{pod("a", "10.0.0.1:80", false), pod("c", "10.0.0.3:80", true)}}
	moved := part{agent: Agent{Owner: owner}, pods: []poll.Pod{pod("c", "10.0.0.3:80", true)}}
	want := []poll.Pod{pod("a", "10.0.0.1:80", true), pod("c", "10.0.0.3:80", true), pod("b", "[fd00::2]:80", false)}
	agents := []Agent{{Owner: owner, DaemonSet: map[string]int{"redis": 2}, Deployment: map[string]int{}}}
	for _, parts := range [][]part{{six, four, moved}, {moved, four, six}, {four, six, moved}} {
		pods, gotAgents := combine(parts)
		if diff := cmp.Diff(want, pods, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(agents, gotAgents); diff != "" {
			t.Error(diff)
		}
	}
}
