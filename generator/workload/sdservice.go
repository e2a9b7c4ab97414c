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
// of it stands in labels, as Kubernetes copies those of a Service to its EndpointSlices.
const (
	// SDServiceSuffix follows the name of the GrafanaAgent in that of the Service, unless
	// Kubernetes would refuse it: the aggregator goes by labels.
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
	// lists are absent, and those whose name cannot stand in a label.
	SDDaemonSetPrefix  = "ds.expect.agentry.dev/"
	SDDeploymentPrefix = "deploy.expect.agentry.dev/"
)

// addSDService adds the Service of the integration pods. Pods that are not ready are listed
// too, because the aggregator keeps what it knows of a pod while it is listed.
func (b *builder) addSDService() {
	labels := with(b.options.Labels, map[string]string{
		AdditionLabel: "true",
		SDLabel:       SDValue,
		SDAgentLabel:  b.agent.Name,
	})
	expect(labels, SDDaemonSetPrefix, b.config.DaemonSet)
	expect(labels, SDDeploymentPrefix, b.config.Deployment)
	b.add(&corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: b.meta(podspec.ServiceName(b.agent.Name+SDServiceSuffix), labels),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Ports:                    []corev1.ServicePort{{Name: b.portName(), Port: agentPort, TargetPort: intstr.FromInt32(agentPort)}},
			Selector:                 b.integrationsSelector(),
		},
	})
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
