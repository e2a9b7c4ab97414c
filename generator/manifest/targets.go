package manifest

import (
	"slices"
	"strconv"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
)

// TargetNamespaces are the namespaces in which a field says that targets are looked for.
type TargetNamespaces struct {
	Path  string // of the field
	Names []string
}

// Equal reports whether the field and the namespaces are the same.
func (t TargetNamespaces) Equal(other TargetNamespaces) bool {
	return t.Path == other.Path && slices.Equal(t.Names, other.Names)
}

// targetsOf returns the namespaces that a monitor names for its targets. Another API server has other namespaces.
func targetsOf(value any) (out []TargetNamespaces) {
	name := func(path string, names []string) {
		if len(names) > 0 {
			out = append(out, TargetNamespaces{path, names})
		}
	}
	selected := func(path string, selector *monitoringv1.NamespaceSelector) {
		if !selector.Any {
			name(path+".matchNames", selector.MatchNames)
		}
	}
	const path = "spec.namespaceSelector"
	switch value := value.(type) {
	case *monitoringv1.ServiceMonitor:
		selected(path, &value.Spec.NamespaceSelector)
	case *monitoringv1.PodMonitor:
		selected(path, &value.Spec.NamespaceSelector)
	case *v1alpha1.PodLogs:
		selected(path, &value.Spec.NamespaceSelector)
	case *v1alpha1.IntegrationMonitor:
		selected(path, &value.Spec.NamespaceSelector)
	case *monitoringv1.Probe:
		if ingress := value.Spec.Targets.Ingress; ingress != nil {
			selected("spec.targets.ingress.namespaceSelector", &ingress.NamespaceSelector)
		}
	case *promv1alpha1.ScrapeConfig:
		for i, sd := range value.Spec.KubernetesSDConfigs {
			if sd.Namespaces != nil && sd.APIServer == nil {
				name("spec.kubernetesSDConfigs["+strconv.Itoa(i)+"].namespaces.names", sd.Namespaces.Names)
			}
		}
	}
	return out
}
