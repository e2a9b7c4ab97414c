package sd

import (
	"net/http"
	"net/netip"
	"os"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/agentry-dev/agentry/sd/poll"
	"github.com/agentry-dev/agentry/test/sd/fakeapi"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

// numbered lists the addresses of n pods.
func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = rig.Addr(i).String()
	}
	return out
}

// putAll lists all pods, ready or not.
func (r *testbed) putAll(ready bool, addresses []string) {
	slice := fakeapi.Slice("ns", "ga", "all", r.pods.Port, addresses...)
	for i := range slice.Endpoints {
		slice.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready}
	}
	r.api.Put(slice)
}

// document returns the whole document, after a strict client has read it.
func (r *testbed) document(url string) string {
	r.Helper()
	response, body := r.do(http.MethodGet, url+Path)
	if _, err := r.read(response, body); err != nil {
		r.Fatalf("a client refuses the document: %v", err)
	}
	return body
}

// byAddress returns the pods of the report by their addresses.
func (r *testbed) byAddress() map[netip.Addr]PodReport {
	r.Helper()
	out := map[netip.Addr]PodReport{}
	for _, agent := range r.status().Agents {
		for _, pod := range agent.Pods {
			out[netip.MustParseAddrPort(pod.Address).Addr()] = pod
		}
	}
	return out
}

// asFaulty reports whether the report has a pod with its fault, after several polls.
func asFaulty(f rig.Fault, p PodReport) bool {
	switch {
	case f.Failure != "":
		return p.State == poll.StateFailing && p.Reason == f.Failure && p.Failures > 1
	case f.Drop != "":
		return p.State == poll.StateGood && len(p.Dropped) == 1 && p.Dropped[0].Reason == f.Drop &&
			p.Dropped[0].Count == 1
	}
	return p.State == poll.StateFailing || p.Failures == 0
}

// TestEveryFaultHarmsOnlyItsPod breaks a pod in each way. The document must not change by one byte, because the pod
// answered before.
func TestEveryFaultHarmsOnlyItsPod(t *testing.T) {
	r := newTestbed(t)
	faults := rig.Faults()
	pods := numbered(len(faults))
	r.putAll(true, pods)
	r.until("all answer", func() bool { return len(r.targets("")) == len(pods)*len(rig.Typical()) })
	before := r.document(r.sd.URL)
	for i, f := range faults {
		r.pods.Set(rig.Addr(i), f.New())
	}
	last := map[netip.Addr]PodReport{}
	r.until("all faults are seen", func() bool {
		if r.document(r.sd.URL) != before {
			t.Fatal("the document changed")
		}
		seen := r.byAddress()
		for i, f := range faults {
			if addr := rig.Addr(i); asFaulty(f, seen[addr]) && r.pods.Polls(addr) > 4 {
				last[addr] = seen[addr]
			}
		}
		return len(last) == len(faults)
	})
	if n := r.pods.Polls(netip.MustParseAddr("10.0.0.2")); n > 0 {
		t.Errorf("the address that pods name was asked %d times", n)
	}
	r.putAll(false, pods)
	for i := range faults {
		r.pods.Set(rig.Addr(i), rig.Runs("agent"))
	}
	r.until("they are not ready", func() bool { return !r.byAddress()[rig.Addr(0)].Ready })
	r.putAll(true, pods) // Pods that turn ready are asked at once, however long they failed.
	r.until("all answer again", func() bool { return len(r.targets("")) == len(pods) })
}

// TestPodsThatAreFaultyFromTheStart has pods that never gave another answer. The good part of it is served. Once the
// pods are gone, so are their targets.
func TestPodsThatAreFaultyFromTheStart(t *testing.T) {
	r := newTestbed(t)
	r.untilTargets("")
	descriptors := openDescriptors(t)
	faults := rig.Faults()
	good := 0
	for i, f := range faults {
		r.pods.Set(rig.Addr(i), f.New())
		if f.Failure == "" {
			good += len(rig.Typical())
		}
	}
	r.putAll(true, numbered(len(faults)))
	r.until("what is good is served", func() bool { return len(r.targets("")) == good })
	r.api.Delete("ns", "all")
	r.untilTargets("")
	http.DefaultClient.CloseIdleConnections()
	r.until("descriptors are closed", func() bool { return openDescriptors(t) <= descriptors })
}

// openDescriptors returns how many files and connections this process has open, including those of the pods.
func openDescriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
