//lint:file-ignore SA1019 Endpoints are deprecated, but are what the rendered discovery role reads.

package kubelet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The label that names the manager of an object. Its value is the operator's, so that objects that the operator left
// behind are adopted.
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "grafana-agent-operator"
)

func labels() map[string]string {
	return map[string]string{managedByLabel: managedBy, "app.kubernetes.io/name": "kubelet", "k8s-app": "kubelet"}
}

// ports returns the ports of the Grafana Agent Operator, which took them from the Prometheus Operator.
func ports() []corev1.EndpointPort {
	return []corev1.EndpointPort{
		{Name: "https-metrics", Port: 10250, Protocol: corev1.ProtocolTCP},
		{Name: "http-metrics", Port: 10255, Protocol: corev1.ProtocolTCP},
		{Name: "cadvisor", Port: 4194, Protocol: corev1.ProtocolTCP},
	}
}

// checkManager returns an error if something else manages the object.
func checkManager(kind string, object metav1.Object) error {
	if keeper := object.GetLabels()[managedByLabel]; keeper != managedBy {
		return fmt.Errorf("the %s is not ours: its label %s is %q; choose another name, or set the label to %s to "+
			"hand it over", kind, managedByLabel, keeper, managedBy)
	}
	return nil
}

// withService returns a copy of the Service with the required fields set. It keeps fields that others added or that the
// API server chose, such as IP families.
func withService(found *corev1.Service) *corev1.Service {
	out := found.DeepCopy()
	addLabels(&out.ObjectMeta)
	out.Spec.Type, out.Spec.ClusterIP = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone
	out.Spec.Selector = nil // With a selector, Kubernetes would write the Endpoints.
	out.Spec.Ports = nil
	for _, p := range ports() {
		out.Spec.Ports = append(out.Spec.Ports,
			corev1.ServicePort{Name: p.Name, Port: p.Port, Protocol: p.Protocol, TargetPort: intstr.FromInt32(p.Port)})
	}
	return out
}

// withEndpoints returns a copy of the Endpoints with the addresses of the nodes.
func withEndpoints(found *corev1.Endpoints, nodes []node) *corev1.Endpoints {
	out := found.DeepCopy()
	addLabels(&out.ObjectMeta)
	out.Subsets = nil
	if addresses := addresses(nodes); len(addresses) > 0 {
		out.Subsets = []corev1.EndpointSubset{{Addresses: addresses, Ports: ports()}}
	}
	return out
}

func addLabels(meta *metav1.ObjectMeta) {
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	maps.Copy(meta.Labels, labels())
}

// addresses returns the addresses of the nodes, in the operator's order.
func addresses(nodes []node) []corev1.EndpointAddress {
	var out []corev1.EndpointAddress
	for _, n := range nodes {
		if n.address != "" {
			out = append(out, corev1.EndpointAddress{
				IP:        n.address,
				TargetRef: &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: n.name, UID: n.uid},
			})
		}
	}
	slices.SortFunc(out, func(a, b corev1.EndpointAddress) int {
		return cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(a.TargetRef.Name, b.TargetRef.Name))
	})
	return out
}
