package sd

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// pods answers as the integration pods at all addresses of 10.0.0.0/8, and returns their port.
func pods(t *testing.T) int32 {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `[{"targets": [%q], "labels": {"job": "integrations/agent"}}]`, r.Host)
	}))
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

// slice is what Kubernetes's controller makes of the Service of a GrafanaAgent.
func slice(name string, port int32, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"agentry.dev/sd": "integrations", "agentry.dev/grafanaagent": "ga",
			discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, address := range addresses {
		pod := "pod-" + strings.NewReplacer(".", "-", ":", "-").Replace(address)
		if strings.Contains(address, ":") { // The other address of the last pod.
			s.AddressType, pod = discoveryv1.AddressTypeIPv6, "pod-10-0-0-1"
		}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod,
				UID: types.UID("uid-" + pod)},
		})
	}
	return s
}

// put makes or replaces slices of a namespace.
func put(t *testing.T, client kubernetes.Interface, namespace string, slices ...*discoveryv1.EndpointSlice) {
	t.Helper()
	for _, s := range slices {
		remove(t, client, namespace, s.Name)
		if _, err := client.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), s,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	// Not by name, for that would say if there is none.
	err := client.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
}

// aggregator is one that runs with the rights that the chart gives it.
type aggregator struct {
	*harness.Process
	address string
}

// aggregate installs the chart's rights in a namespace, and runs the aggregator with them and
// some more flags.
func aggregate(t *testing.T, namespace string, port int32, watched ...string) *aggregator {
	t.Helper()
	cluster.Namespaces(t, namespace)
	objects := chart.Render(t, namespace, "--set", "namespaces={"+namespace+"}")
	cluster.NewApplier(t).MustApply(t, objects, "ServiceAccount", "Role", "RoleBinding")
	a := &aggregator{address: fmt.Sprintf("127.0.0.1:%d", port)}
	args := []string{"--kubeconfig", cluster.Kubeconfig(t, namespace, "sd-aggregator"), "--poll-interval=1s",
		"--pod-timeout=1s",
		"--listen", a.address, "--admin-listen", fmt.Sprintf("127.0.0.1:%d", port+1)}
	for _, name := range watched {
		args = append(args, "--namespace", name)
	}
	a.Process = cluster.Launch(t, "sd-aggregator", harness.Aggregator(), args...)
	return a
}

// get reads JSON from the aggregator. Other answers than 200 are errors.
func (a *aggregator) get(path string, into any) error {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + a.address + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", response.Status, body)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// targets are the hosts in the document.
func (a *aggregator) targets() ([]string, error) {
	var groups []struct{ Targets []string }
	err := a.get("/operator/api/v1/metrics/integrations/sd", &groups)
	var out []string
	for _, g := range groups {
		for _, target := range g.Targets {
			host, _, _ := net.SplitHostPort(target)
			out = append(out, host)
		}
	}
	slices.Sort(out)
	return out, err
}

// serves waits until the document has these targets and no others.
func (a *aggregator) serves(t *testing.T, what string, want ...string) {
	t.Helper()
	harness.Eventually(t, what, func() error {
		got, err := a.targets()
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("targets %v, not %v", got, want)
		}
		return err
	})
}

func TestEndpointSlicesAreFollowed(t *testing.T) {
	client, port := cluster.Client(t), pods(t)
	cluster.Namespaces(t, "informer")
	put(t, client, "informer", slice("one", port, "10.0.0.1", "10.0.0.2"))
	a := aggregate(t, "informer", 8080, "informer")
	a.serves(t, "the first list", "10.0.0.1", "10.0.0.2")
	put(t, client, "informer", slice("two", port, "10.0.0.3"), slice("v6", port, "fd00::1"))
	a.serves(t, "a slice and another family added", "10.0.0.1", "10.0.0.2", "10.0.0.3")
	put(t, client, "informer", slice("one", port, "10.0.0.1"))
	a.serves(t, "a pod removed", "10.0.0.1", "10.0.0.3")
	remove(t, client, "informer", "two")
	a.serves(t, "a slice removed", "10.0.0.1")

	cluster.KillAPI()
	t.Cleanup(func() { _ = cluster.StartAPI(harness.Port) }) // Also if this fails on the way.
	harness.Eventually(t, "the page says that the API server is away", a.watch("informer", "failing"))
	a.serves(t, "what is known is served meanwhile", "10.0.0.1")
	const elsewhere = harness.Port + 1
	if err := cluster.StartAPI(elsewhere); err != nil {
		t.Fatal(err)
	}
	hidden := cluster.ClientAt(t, elsewhere)
	remove(t, hidden, "informer", "one")
	put(t, hidden, "informer", slice("three", port, "10.0.0.4"))
	cluster.KillAPI()
	if err := cluster.StartAPI(harness.Port); err != nil {
		t.Fatal(err)
	}
	a.serves(t, "what happened meanwhile is known", "10.0.0.4")
	harness.Eventually(t, "the page says that all is well", a.watch("informer", "good"))
	if code := a.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// watch probes for the state of the watch of a namespace.
func (a *aggregator) watch(namespace, state string) func() error {
	return func() error {
		var page struct {
			Watches []struct{ Name, State, Error string }
		}
		if err := a.get("/status.json", &page); err != nil {
			return err
		}
		for _, w := range page.Watches {
			if w.Name == namespace && w.State == state {
				return nil
			}
		}
		return fmt.Errorf("%+v", page.Watches)
	}
}

// TestAForbiddenNamespace: what the chart gives no right to see is reported and does not stop
// the rest, and the right can be given later.
func TestAForbiddenNamespace(t *testing.T) {
	client, port := cluster.Client(t), pods(t)
	cluster.Namespaces(t, "allowed", "closed")
	put(t, client, "allowed", slice("one", port, "10.0.1.1"))
	put(t, client, "closed", slice("one", port, "10.0.1.2"))
	a := aggregate(t, "allowed", 8080, "allowed", "closed")
	a.serves(t, "the rest", "10.0.1.1")
	harness.Eventually(t, "the page says that it is forbidden", a.watch("closed", "forbidden"))
	if !strings.Contains(a.Log(), `namespace=closed err=`) {
		t.Error("the log does not tell")
	}
	var groups []any
	if err := a.get("/operator/api/v1/metrics/integrations/sd?grafanaagent="+url.QueryEscape("closed/ga"),
		&groups); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("the view of a GrafanaAgent that cannot be seen: %v", err)
	}
	allowed, forbidden := cluster.Uses(t, "allowed", "sd-aggregator")
	if want := []string{"list endpointslices allowed/", "watch endpointslices allowed/"}; !slices.Equal(allowed, want) {
		t.Errorf("it uses %q", allowed)
	}
	if want := []string{"list endpointslices closed/"}; !slices.Equal(forbidden, want) {
		t.Errorf("it is refused %q", forbidden)
	}
	objects := chart.Render(t, "allowed", "--set", "namespaces={closed}")
	cluster.NewApplier(t).MustApply(t, objects, "Role", "RoleBinding")
	a.serves(t, "with the right", "10.0.1.1", "10.0.1.2")
}
