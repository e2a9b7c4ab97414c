//lint:file-ignore SA1019 Endpoints are deprecated, but are what the rendered discovery role reads.

package kubelet

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1fake "k8s.io/client-go/kubernetes/typed/core/v1/fake"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"
)

// The operator's objects, with Kubernetes's defaults.
const (
	operatorsService = `
metadata:
  name: kubelet
  namespace: default
  labels: {app.kubernetes.io/managed-by: grafana-agent-operator, app.kubernetes.io/name: kubelet, k8s-app: kubelet}
spec:
  type: ClusterIP
  clusterIP: None
  ports:
  - {name: https-metrics, port: 10250, targetPort: 10250, protocol: TCP}
  - {name: http-metrics, port: 10255, targetPort: 10255, protocol: TCP}
  - {name: cadvisor, port: 4194, targetPort: 4194, protocol: TCP}
`
	operatorsEndpoints = `
metadata:
  name: kubelet
  namespace: default
  labels: {app.kubernetes.io/managed-by: grafana-agent-operator, app.kubernetes.io/name: kubelet, k8s-app: kubelet}
subsets:
- addresses:
  - {ip: 10.0.0.10, targetRef: {kind: Node, apiVersion: v1, name: b, uid: uid-b}}
  - {ip: 10.0.0.2, targetRef: {kind: Node, apiVersion: v1, name: a, uid: uid-a}}
  ports:
  - {name: https-metrics, port: 10250, protocol: TCP}
  - {name: http-metrics, port: 10255, protocol: TCP}
  - {name: cadvisor, port: 4194, protocol: TCP}
`
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestObjectsAreTheOperators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")), aNode("b", internal("10.0.0.10")))
		r := w.start("one")
		after(5 * time.Second)
		service, endpoints := w.service(), w.endpoints()
		service.ResourceVersion, endpoints.ResourceVersion = "", ""
		if diff := cmp.Diff(read[corev1.Service](t, operatorsService), service); diff != "" {
			t.Errorf("Service (-operator +ours):\n%s", diff)
		}
		if diff := cmp.Diff(read[corev1.Endpoints](t, operatorsEndpoints), endpoints); diff != "" {
			t.Errorf("Endpoints (-operator +ours):\n%s", diff)
		}
		if code, text := get200(r, "/readyz"); code != http.StatusOK {
			t.Errorf("not ready: %s", text)
		}
	})
}

func get200(r *replica, path string) (int, string) {
	recorder := httptest.NewRecorder()
	r.AdminHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder.Code, recorder.Body.String()
}

func TestWhatTheOperatorLeftIsTakenOverWithoutAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := read[corev1.Service](t, operatorsService)
		families := corev1.IPFamilyPolicyRequireDualStack
		service.Spec.IPFamilyPolicy, service.Labels["team"] = &families, "platform"
		w := newFakeCluster(t, service, read[corev1.Endpoints](t, operatorsEndpoints), aNode("a", internal("10.0.0.2")),
			aNode("b", internal("10.0.0.10")))
		r := w.start("one")
		after(10 * resyncInterval)
		if n := r.written("services") + r.written("endpoints"); n > 0 {
			t.Errorf("%d writes of what is there already", n)
		}
		gone := w.endpoints()
		gone.Subsets = nil
		w.update(gone)
		changed := w.service()
		changed.Spec.Ports, changed.Spec.Selector = changed.Spec.Ports[1:], map[string]string{"app": "kubelet"}
		w.update(changed)
		after(resyncInterval + time.Second)
		got := w.service()
		if w.listed() != "b=10.0.0.10 a=10.0.0.2 " || len(got.Spec.Ports) != 3 || got.Spec.Selector != nil ||
			got.Labels["team"] != "platform" || got.Spec.IPFamilyPolicy == nil {
			t.Errorf("not repaired, or not with what others added: %s %v", w.listed(), got)
		}
	})
}

func TestNodesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster(t)
		r := w.start("one")
		after(5 * time.Second)
		if len(w.endpoints().Subsets) > 0 {
			t.Errorf("without nodes: %v", w.endpoints().Subsets)
		}
		for i := range 1500 { // Kubernetes's own controllers stop at 1000.
			w.add(aNode(fmt.Sprintf("n%04d", i), internal(fmt.Sprintf("10.1.%d.%d", i/250, i%250+1))))
		}
		after(5 * time.Second)
		if n := strings.Count(w.listed(), "="); n != 1500 {
			t.Errorf("%d of 1500 nodes", n)
		}
		if n := r.written("endpoints"); n > 3 {
			t.Errorf("%d writes for a crowd of nodes", n)
		}
		for i := 1; i < 1500; i++ {
			w.remove(fmt.Sprintf("n%04d", i))
		}
		w.update(aNode("n0000", internal("10.2.0.1")))
		after(5 * time.Second)
		if w.listed() != "n0000=10.2.0.1 " {
			t.Error(w.listed())
		}
		r.api.ClearActions()
		alive := aNode("n0000", internal("10.2.0.1"))
		alive.Annotations = map[string]string{"heartbeat": "1"}
		w.update(alive)
		after(5 * time.Second)
		for _, a := range r.api.Actions() {
			if a.GetResource().Resource != "leases" {
				t.Errorf("because a node lives: %s %s", a.GetVerb(), a.GetResource().Resource)
			}
		}
	})
}

// TestNodesAreListedInPages: the nodes of a large cluster do not fit in the memory of a small pod. Each list is of the
// latest version: the pages of another version would be of exactly that one, and the API server may have forgotten what
// happened since.
func TestNodesAreListedInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFakeCluster(t).start("one")
		after(5 * time.Second)
		nodes := newNodeWatch((&corev1fake.FakeCoreV1{Fake: r.api}).Nodes(), r.status)
		if _, err := nodes.ListWithContext(t.Context(),
			metav1.ListOptions{Limit: listPage, ResourceVersion: "7"}); err != nil {
			t.Fatal(err)
		}
		lists := 0
		for _, a := range r.api.Actions() {
			if list, ok := a.(k8stesting.ListActionImpl); ok {
				lists++
				if o := list.ListOptions; o.Limit != listPage || o.ResourceVersion != "" {
					t.Errorf("%+v", o)
				}
			}
		}
		if lists != 2 {
			t.Errorf("nodes were listed %d times", lists)
		}
	})
}

func TestAddressOfANode(t *testing.T) {
	for name, test := range map[string]struct {
		addresses []corev1.NodeAddress
		want      string
	}{
		"the internal one": {[]corev1.NodeAddress{external("192.0.2.1"), internal("10.0.0.1")},
			"10.0.0.1"},
		"an external one for want": {[]corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "10.0.0.9"},
			external("192.0.2.1")}, "192.0.2.1"},
		"the first family of two": {[]corev1.NodeAddress{internal("10.0.0.1"), internal("fd00::1")},
			"10.0.0.1"},
		"IPv6 first": {[]corev1.NodeAddress{internal("fd00::1"), internal("10.0.0.1")},
			"fd00::1"},
		"none": {nil, ""},
		"a name only": {[]corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: "a.example"}},
			""},
		"an internal name, external IP": {[]corev1.NodeAddress{internal("a.example"), external("192.0.2.1")},
			"192.0.2.1"},
		"what the API server would refuse": {[]corev1.NodeAddress{internal("127.0.0.1"), internal("169.254.0.1"),
			internal("fe80::1"), internal("0.0.0.0"), internal("10.0.0.1")}, "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := extract(aNode("a", test.addresses...)).address; got != test.want {
				t.Errorf("%q, not %q", got, test.want)
			}
		})
	}
}

func TestANodeWithoutAddressDoesNotStopTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")), aNode("b"))
		r := w.start("one")
		after(3 * resyncInterval)
		if w.listed() != "a=10.0.0.2 " {
			t.Error(w.listed())
		}
		if n := r.log.count("left out"); n != 1 {
			t.Errorf("told %d times", n)
		}
		if _, text := get200(r, "/metrics"); !strings.Contains(text,
			"agentry_sd_kubelet_nodes{state=\"listed\"} 1\nagentry_sd_kubelet_nodes{state=\"without_address\"} 1\n") {
			t.Error(text)
		}
	})
}

func TestObjectsOfOthersAreNotChanged(t *testing.T) {
	for name, object := range map[string]runtime.Object{
		"a Service": &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubelet",
			Labels: map[string]string{managedByLabel: "prometheus-operator"}}},
		"Endpoints": &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubelet"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeCluster(t, object.DeepCopyObject(), aNode("a", internal("10.0.0.2")))
				r := w.start("one")
				after(5 * resyncInterval)
				if n := r.written("services") + r.written("endpoints"); n > 0 {
					t.Errorf("%d writes", n)
				}
				if n := r.log.count("is not ours"); n != 1 {
					t.Errorf("told %d times", n)
				}
				if code, text := get200(r, "/readyz"); code != http.StatusServiceUnavailable ||
					!strings.Contains(text, "hand it over") {
					t.Errorf("%d %s", code, text)
				}
				switch o := object.DeepCopyObject().(type) {
				case *corev1.Service:
					o.Labels = labels()
					w.update(o)
				case *corev1.Endpoints:
					o.Labels = labels()
					w.update(o)
				}
				after(maxBackoff + time.Second)
				if w.listed() != "a=10.0.0.2 " || r.log.count("works again") != 1 {
					t.Errorf("not taken over: %s", w.listed())
				}
			})
		})
	}
}

func TestAConflictIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")))
		r := w.start("one")
		after(5 * time.Second)
		var raced atomic.Bool
		r.before(func(a k8stesting.Action) error {
			// Somebody writes between our reading and writing.
			if a.Matches("update", "endpoints") && !raced.Swap(true) {
				other := w.endpoints()
				other.Labels["other"] = "yes"
				w.update(other)
			}
			return nil
		})
		w.add(aNode("b", internal("10.0.0.3")))
		after(5 * time.Second)
		if w.listed() != "a=10.0.0.2 b=10.0.0.3 " || w.endpoints().Labels["other"] != "yes" || !raced.Load() {
			t.Errorf("raced %v, listed %s", raced.Load(), w.listed())
		}
	})
}

func TestFailedWritesBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")))
		r := w.start("one")
		after(5 * time.Second)
		var tries atomic.Int64
		r.before(func(a k8stesting.Action) error {
			if !a.Matches("update", "endpoints") {
				return nil
			}
			tries.Add(1)
			return errors.New("etcd is full")
		})
		w.add(aNode("b", internal("10.0.0.3")))
		after(10 * time.Minute)
		if n := tries.Load(); n < 20 || n > 26 {
			t.Errorf("%d tries in ten minutes", n)
		}
		if r.log.count("etcd is full") != 1 || w.listed() != "a=10.0.0.2 " {
			t.Errorf("told %d times, listed %s", r.log.count("etcd is full"), w.listed())
		}
		if _, text := get200(r, "/metrics"); !strings.Contains(text, `agentry_sd_kubelet_failing{part="service"} 1`) {
			t.Error(text)
		}
		r.away(false)
		after(maxBackoff + time.Second)
		if w.listed() != "a=10.0.0.2 b=10.0.0.3 " {
			t.Error(w.listed())
		}
	})
}

func leaders(all ...*replica) []int {
	var out []int
	for i, r := range all {
		if _, text := get200(r, "/metrics"); strings.Contains(text, "\nagentry_sd_kubelet_leader 1\n") {
			out = append(out, i)
		}
	}
	return out
}

func TestOneReplicaLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")))
		first := w.start("one")
		after(5 * time.Second)
		second := w.start("two")
		after(time.Minute)
		if got := leaders(first, second); !slices.Equal(got, []int{0}) {
			t.Fatalf("leaders: %v", got)
		}
		if code, text := get200(second, "/readyz"); code != http.StatusOK {
			t.Errorf("who waits is not ready: %s", text)
		}
		first.stop()
		after(4 * time.Second) // The lease is given up.
		w.add(aNode("b", internal("10.0.0.3")))
		after(5 * time.Second)
		if got := leaders(first, second); !slices.Equal(got, []int{1}) || w.listed() != "a=10.0.0.2 b=10.0.0.3 " {
			t.Errorf("leaders %v, listed %s", got, w.listed())
		}
	})
}

func TestALeaderThatIsCutOffIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")))
		first := w.start("one")
		after(5 * time.Second)
		second := w.start("two")
		after(5 * time.Second)
		first.away(true)
		w.add(aNode("b", internal("10.0.0.3"))) // The keeper sees the node, but cannot write.
		for range 60 {
			after(time.Second)
			if got := leaders(first, second); len(got) > 1 {
				t.Fatalf("leaders: %v", got)
			}
		}
		if got := leaders(first, second); !slices.Equal(got, []int{1}) {
			t.Fatalf("leaders: %v", got)
		}
		if first.log.count("lease: cannot be read or renewed") != 1 || first.log.count("part=service err=") != 1 {
			t.Error(first.log.text.String())
		}
		if _, text := get200(first, "/metrics"); !strings.Contains(text, `failing{part="lease"} 1`) ||
			!strings.Contains(text, `failing{part="service"} 0`) {
			t.Error("who does not lead fails at leading:", text)
		}
		first.away(false)
		after(time.Minute)
		if got := leaders(first, second); !slices.Equal(got, []int{1}) || w.listed() != "a=10.0.0.2 b=10.0.0.3 " ||
			first.log.count("can be read and renewed again") == 0 {
			t.Errorf("leaders %v, listed %s", got, w.listed())
		}
	})
}
