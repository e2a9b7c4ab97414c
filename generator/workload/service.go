package workload

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/build"
	"github.com/agentry-dev/agentry/generator/podspec"
)

// The contract with the sd-aggregator: the Service by which it finds integration pods. All
// of it is in labels, because Kubernetes copies those of a Service to its EndpointSlices.
const (
	// SDServiceSuffix follows the name of the GrafanaAgent in the name of the Service. Where
	// Kubernetes would refuse that name it is changed: the aggregator looks at labels only.
	SDServiceSuffix = "-integrations-sd"
	// AdditionLabel is "true" on objects that the operator does not make.
	AdditionLabel = "agentry.dev/addition"
	// SDLabel is SDValue on the Services that the aggregator looks for.
	SDLabel = "agentry.dev/sd"
	// SDValue is the value of SDLabel.
	SDValue = "integrations"
	// SDAgentLabel names the GrafanaAgent. Its namespace is that of the Service.
	SDAgentLabel = "agentry.dev/grafanaagent"
	// SDDaemonSetPrefix and SDDeploymentPrefix, with the agent's name of an integration, say
	// how many targets of it the SD API of one pod should list. Integrations that it never
	// lists are absent, and so are those whose name cannot be in a label.
	SDDaemonSetPrefix  = "ds.expect.agentry.dev/"
	SDDeploymentPrefix = "deploy.expect.agentry.dev/"
)

// operatedService is the governing Service of the StatefulSets. Its selector matches logs and
// integrations pods too, as the operator's does (reference defect D5).
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

// sdService is the Service of the integration pods. Pods that are not ready are listed
// too, because the aggregator keeps what it knows of a pod while it is listed.
func (a grafanaAgent) sdService(once, everywhere *build.Integrations) *corev1.Service {
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
			Ports:                    []corev1.ServicePort{{Name: a.portName(), Port: port, TargetPort: intstr.FromInt32(port)}},
			Selector:                 a.integrationsSelector(),
		},
	}
}

func expect(labels map[string]string, prefix string, in *build.Integrations) {
	if in == nil {
		return
	}
	for name, targets := range in.Expected {
		if key := prefix + name; targets > 0 && len(validation.IsQualifiedName(key)) == 0 {
			labels[key] = strconv.Itoa(targets)
		}
	}
}
