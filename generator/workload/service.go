package workload

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
)

// The interface to the sd-aggregator is the Service by which it finds the pods of integrations. All data is in
// labels, because Kubernetes copies a Service's labels to its EndpointSlices.
const (
	// SDServiceSuffix follows the name of the GrafanaAgent in the name of the Service. If Kubernetes would refuse that
	// name, it is changed: the aggregator reads only labels.
	SDServiceSuffix = "-integrations-sd"
	// AdditionLabel is "true" on objects that the operator does not create.
	AdditionLabel = "agentry.dev/addition"
	// SDLabel has the value SDValue on the Services that the aggregator looks for.
	SDLabel = "agentry.dev/sd"
	// SDValue is the value of SDLabel.
	SDValue = "integrations"
	// SDAgentLabel is the name of the GrafanaAgent, which is in the namespace of the Service.
	SDAgentLabel = "agentry.dev/grafanaagent"
	// SDDaemonSetPrefix and SDDeploymentPrefix precede the agent's name of an integration. The label's value is the
	// number of its targets that the SD API of one pod should list. There is no label for integrations that the API
	// never lists, or whose name cannot be in a label.
	SDDaemonSetPrefix  = "ds.expect.agentry.dev/"
	SDDeploymentPrefix = "deploy.expect.agentry.dev/"
)

// operatedService returns the governing Service of the StatefulSets. As with the operator, its selector also matches
// logs and integrations pods (reference defect D5).
func (a grafanaAgent) operatedService() *corev1.Service {
	port := a.portName()
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: a.meta(a.Name+"-operated", with(managedLabels(), map[string]string{
			"operated-agent":                  "true",
			"operator.agent.grafana.com/name": a.Name,
		}, a.options.Labels)),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Ports:     []corev1.ServicePort{{Name: port, Port: a.runtime().Port, TargetPort: intstr.FromString(port)}},
			Selector: map[string]string{
				"app.kubernetes.io/name":          "grafana-agent",
				"operator.agent.grafana.com/name": a.Name,
			},
		},
	}
}

// clusterName returns the name of the Service by which the metrics pods of a GrafanaAgent find each other.
func clusterName(agent string) string { return podspec.ServiceName(agent + "-cluster") }

// clusterService returns the Service by which metrics pods find each other. It also publishes pods that are not ready,
// because pods that start at the same time must find each other. Its port has another name than the governing
// Service's, so that the pods are not scraped twice.
func (a grafanaAgent) clusterService() *corev1.Service {
	port := a.runtime().Port
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: a.meta(clusterName(a.Name),
			with(managedLabels(), a.options.Labels, map[string]string{AdditionLabel: "true"})),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{{Name: "cluster", Port: port,
				TargetPort: intstr.FromInt32(port)}},
			Selector: a.selector("metrics", "0"),
		},
	}
}

// sdService returns the Service of the integrations pods. It also publishes pods that are not ready, because the
// aggregator remembers a pod only while it is listed.
func (a grafanaAgent) sdService(once, everywhere *compile.Integrations) *corev1.Service {
	labels := with(a.options.Labels, map[string]string{
		AdditionLabel: "true",
		SDLabel:       SDValue,
		SDAgentLabel:  a.Name,
	})
	expect(labels, SDDaemonSetPrefix, everywhere)
	expect(labels, SDDeploymentPrefix, once)
	port := a.runtime().Port
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: a.meta(podspec.ServiceName(a.Name+SDServiceSuffix), labels),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{{Name: a.portName(), Port: port,
				TargetPort: intstr.FromInt32(port)}},
			Selector: a.integrationsSelector(),
		},
	}
}

func expect(labels map[string]string, prefix string, in *compile.Integrations) {
	if in == nil {
		return
	}
	for name, targets := range in.Expected {
		if key := prefix + name; targets > 0 && len(validation.IsQualifiedName(key)) == 0 {
			labels[key] = strconv.Itoa(targets)
		}
	}
}
