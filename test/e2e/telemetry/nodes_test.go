package telemetry

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// node is a node, with the address of its kubelet.
type node struct{ name, zone, address string }

const (
	zoneLabel   = "topology.kubernetes.io/zone"
	kubeletPort = 10250
)

// nodes are those of the cluster. Pods come to the first one unless they choose a zone.
func nodes() []node {
	return []node{{"node-1", "", "10.250.0.1"}, {"node-2", "north", "10.250.0.2"}, {"node-3", "south", "10.250.0.3"}}
}

func (n node) labels() map[string]string {
	out := map[string]string{"kubernetes.io/hostname": n.name}
	if n.zone != "" {
		out[zoneLabel] = n.zone
	}
	return out
}

// join adds the node to the cluster, with a page of metrics at the port of its kubelet. DaemonSets do
// not come to nodes in zones.
func (n node) join(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	page := newPod("")
	page.address = n.address
	if err := page.serve(corev1.Container{Ports: []corev1.ContainerPort{{Name: "http",
		ContainerPort: kubeletPort}}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.kill)
	nodes := client.CoreV1().Nodes()
	object, err := nodes.Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: n.labels()}}, metav1.CreateOptions{})
	if err == nil {
		object.Spec.Taints = nil // All nodes begin as not ready, to which DaemonSets do not come.
		if n.zone != "" {
			object.Spec.Taints = []corev1.Taint{{Key: zoneLabel, Effect: corev1.TaintEffectNoSchedule}}
		}
		object, err = nodes.Update(t.Context(), object, metav1.UpdateOptions{})
	}
	if err == nil {
		object.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.address}}
		object.Status.DaemonEndpoints.KubeletEndpoint.Port = kubeletPort
		_, err = nodes.UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// nodeFor is the first node that a pod may come to.
func (k *kubelet) nodeFor(p *pod) string {
	for _, n := range k.nodes {
		if labels.SelectorFromSet(p.Spec.NodeSelector).Matches(labels.Set(n.labels())) {
			return n.name
		}
	}
	return ""
}
