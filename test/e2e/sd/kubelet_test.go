package sd

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// keeper is a replica of the kubelet Service that runs with the rights that the chart gives it.
type keeper struct {
	*harness.Process
	admin string
}

// keep starts a replica, which listens at a port.
func keep(t *testing.T, kubeconfig, service string, port int) *keeper {
	t.Helper()
	k := &keeper{admin: fmt.Sprintf("http://127.0.0.1:%d", port)}
	k.Process = cluster.Launch(t, fmt.Sprintf("kubelet-service-%d", port), harness.Aggregator(),
		"kubelet-service", "--service", service, "--kubeconfig", kubeconfig, "--admin-listen",
		fmt.Sprintf("127.0.0.1:%d", port))
	return k
}

func (k *keeper) get(path string) (string, error) {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(k.admin + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", response.Status, body)
	}
	return string(body), err
}

// says probes for a line of the metrics.
func (k *keeper) says(line string) func() error {
	return func() error {
		text, err := k.get("/metrics")
		if err == nil && !strings.Contains(text, "\n"+line+"\n") {
			err = fmt.Errorf("no %s", line)
		}
		return err
	}
}

const leads, waits = "agentry_sd_kubelet_leader 1", "agentry_sd_kubelet_leader 0"

// nodes registers nodes as kubelets do.
func nodes(t *testing.T, client kubernetes.Interface, from, to int) {
	t.Helper()
	var making sync.WaitGroup
	todo := make(chan int)
	for range 8 {
		making.Go(func() {
			for i := range todo {
				node := &corev1.Node{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%04d", i)},
					Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
						{Type: corev1.NodeHostName, Address: fmt.Sprintf("node-%04d", i)},
						{Type: corev1.NodeInternalIP, Address: address(i)},
						{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("fd00::%x", i+1)},
					}},
				}
				if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := from; i < to; i++ {
		todo <- i
	}
	close(todo)
	making.Wait()
}

func address(node int) string { return fmt.Sprintf("10.2.%d.%d", node/250, node%250+1) }

// lists probes for the addresses in the Endpoints.
func lists(t *testing.T, client kubernetes.Interface, namespace string, from, to int) func() error {
	var want []string
	for i := from; i < to; i++ {
		want = append(want, fmt.Sprintf("node-%04d=%s", i, address(i)))
	}
	return func() error {
		endpoints, err := client.CoreV1().Endpoints(namespace).Get(t.Context(), "kubelet", metav1.GetOptions{})
		if err != nil {
			return err
		}
		var got []string
		for _, s := range endpoints.Subsets {
			for _, a := range s.Addresses {
				got = append(got, a.TargetRef.Name+"="+a.IP)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("%d addresses, not %d", len(got), len(want))
		}
		return nil
	}
}

// TestKubeletService: two replicas with the chart's rights keep the Service of a large cluster,
// one at a time, through the deaths of the leader and of the API server, with no right that
// they lack and none that they do not use.
func TestKubeletService(t *testing.T) {
	const namespace = "kubelets"
	client := cluster.Client(t)
	cluster.Namespaces(t, "keepers", namespace)
	objects := chart.Render(t, "keepers", "--set", "kubeletService.enabled=true,kubeletService.service=kubelets/kubelet")
	cluster.NewApplier(t).MustApply(t, objects, "ServiceAccount", "Role", "RoleBinding", "ClusterRole",
		"ClusterRoleBinding")
	t.Cleanup(func() {
		_ = client.CoreV1().Nodes().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	})
	nodes(t, client, 0, 1200)
	kubeconfig := cluster.Kubeconfig(t, "keepers", "sd-aggregator-kubelet")

	first := keep(t, kubeconfig, "kubelets/kubelet", 8081)
	harness.Eventually(t, "one replica leads", first.says(leads))
	second := keep(t, kubeconfig, "kubelets/kubelet", 8082)
	harness.Eventually(t, "the other waits", second.says(waits))
	harness.Eventually(t, "all nodes", lists(t, client, namespace, 0, 1200))
	isHeadless(t, client, namespace)
	for _, k := range []*keeper{first, second} {
		harness.Eventually(t, "readiness", func() error { _, err := k.get("/readyz"); return err })
	}

	first.Kill()
	nodes(t, client, 1200, 1210)
	harness.Eventually(t, "the other leads", second.says(leads))
	harness.Eventually(t, "nodes that came meanwhile", lists(t, client, namespace, 0, 1210))

	third := keep(t, kubeconfig, "kubelets/kubelet", 8083)
	harness.Eventually(t, "a new one waits", third.says(waits))
	began := time.Now()
	if code := second.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	harness.Eventually(t, "the new one leads", third.says(leads))
	t.Logf("who is asked to end is followed after %.1fs", time.Since(began).Seconds())

	cluster.KillAPI()
	t.Cleanup(func() { _ = cluster.StartAPI(harness.Port) })
	harness.Eventually(t, "the API server is away", third.says(`agentry_sd_kubelet_failing{part="lease"} 1`))
	const elsewhere = harness.Port + 1 // Nodes come that no watch tells of: the next server does not know.
	if err := cluster.StartAPI(elsewhere); err != nil {
		t.Fatal(err)
	}
	nodes(t, cluster.ClientAt(t, elsewhere), 1210, 1220)
	cluster.KillAPI()
	if err := cluster.StartAPI(harness.Port); err != nil {
		t.Fatal(err)
	}
	client = cluster.Client(t)
	harness.Eventually(t, "nodes that came meanwhile", lists(t, client, namespace, 0, 1220))

	usesItsRights(t)
}

func isHeadless(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	service, err := client.CoreV1().Services(namespace).Get(t.Context(), "kubelet", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var ports []string
	for _, p := range service.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s %d", p.Name, p.Port))
	}
	if service.Spec.ClusterIP != "None" ||
		!slices.Equal(ports, []string{"https-metrics 10250", "http-metrics 10255", "cadvisor 4194"}) ||
		service.Labels["app.kubernetes.io/name"] != "kubelet" {
		t.Errorf("%v", service)
	}
}

// usesItsRights holds what the replicas did to what the chart allows, right by right.
func usesItsRights(t *testing.T) {
	t.Helper()
	used, forbidden := cluster.Uses(t, "keepers", "sd-aggregator-kubelet")
	want := []string{
		"create endpoints kubelets/kubelet", "create leases kubelets/sd-aggregator-kubelet",
		"create services kubelets/kubelet",
		"get endpoints kubelets/kubelet", "get leases kubelets/sd-aggregator-kubelet", "get services kubelets/kubelet",
		"list nodes /", "update endpoints kubelets/kubelet", "update leases kubelets/sd-aggregator-kubelet",
		"watch nodes /",
	}
	if !slices.Equal(used, want) || len(forbidden) > 0 {
		t.Errorf("used %q\nforbidden %q", used, forbidden)
	}
}

// TestKubeletServiceOfSomebodyElse: it is left alone, and the replica says so, until it is
// handed over.
func TestKubeletServiceOfSomebodyElse(t *testing.T) {
	client := cluster.Client(t)
	cluster.Namespaces(t, "taken")
	objects := chart.Render(t, "taken", "--set", "kubeletService.enabled=true,kubeletService.service=taken/kubelet")
	cluster.NewApplier(t).MustApply(t, objects, "ServiceAccount", "Role", "RoleBinding", "ClusterRole",
		"ClusterRoleBinding")
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kubelet",
			Labels: map[string]string{"app.kubernetes.io/managed-by": "prometheus-operator"}},
		Spec: corev1.ServiceSpec{ClusterIP: "None",
			Ports: []corev1.ServicePort{{Name: "https-metrics", Port: 10250}}},
	}
	made, err := client.CoreV1().Services("taken").Create(t.Context(), theirs, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k := keep(t, cluster.Kubeconfig(t, "taken", "sd-aggregator-kubelet"), "taken/kubelet", 8081)
	harness.Eventually(t, "it says why it is not ready", func() error {
		_, err := k.get("/readyz")
		if err == nil || !strings.Contains(err.Error(),
			`the Service is not ours: its label app.kubernetes.io/managed-by is "prometheus-operator"`) {
			return fmt.Errorf("it says %w", err)
		}
		return nil
	})
	found, err := client.CoreV1().Services("taken").Get(t.Context(), "kubelet", metav1.GetOptions{})
	if err != nil || found.ResourceVersion != made.ResourceVersion {
		t.Fatalf("it was changed: %v %v", found, err)
	}
	found.Labels["app.kubernetes.io/managed-by"] = "grafana-agent-operator"
	if _, err := client.CoreV1().Services("taken").Update(t.Context(), found, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "it is taken over", func() error { _, err := k.get("/readyz"); return err })
}
