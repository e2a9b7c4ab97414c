package hierarchy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Choice is one pair of selectors of an object: for labels of other objects, and for labels of their namespaces. A nil
// Selector selects nothing; a nil NamespaceSelector means the object's own namespace.
type Choice struct {
	Kinds             []string
	Path              string // field of Selector
	Selector          *metav1.LabelSelector
	NamespacePath     string // field of NamespaceSelector
	NamespaceSelector *metav1.LabelSelector
}

// Choices returns the pairs of selectors of an object's kind, in the order of its fields. It is empty for kinds that
// select nothing.
func Choices(o *manifest.Object) []Choice {
	one := func(path, field string, selector, namespaces *metav1.LabelSelector, kinds ...string) Choice {
		selectorPath, namespacePath := path+field+"Selector", path+field+"NamespaceSelector"
		if field == "" {
			selectorPath, namespacePath = path+"selector", path+"namespaceSelector"
		}
		return Choice{kinds, selectorPath, selector, namespacePath, namespaces}
	}
	switch v := o.Value().(type) {
	case *v1alpha1.GrafanaAgent:
		m, l, i := &v.Spec.Metrics, &v.Spec.Logs, &v.Spec.Integrations
		return []Choice{
			one("spec.metrics.", "instance", m.InstanceSelector, m.InstanceNamespaceSelector, "MetricsInstance"),
			one("spec.logs.", "instance", l.InstanceSelector, l.InstanceNamespaceSelector, "LogsInstance"),
			one("spec.integrations.", "", i.Selector, i.NamespaceSelector, "Integration", "MetricsIntegration"),
		}
	case *v1alpha1.MetricsInstance:
		s := &v.Spec
		return []Choice{
			one("spec.", "serviceMonitor", s.ServiceMonitorSelector, s.ServiceMonitorNamespaceSelector,
				"ServiceMonitor"),
			one("spec.", "podMonitor", s.PodMonitorSelector, s.PodMonitorNamespaceSelector, "PodMonitor"),
			one("spec.", "probe", s.ProbeSelector, s.ProbeNamespaceSelector, "Probe"),
			one("spec.", "scrapeConfig", s.ScrapeConfigSelector, s.ScrapeConfigNamespaceSelector, "ScrapeConfig"),
			one("spec.", "integrationMonitor", s.IntegrationMonitorSelector, s.IntegrationMonitorNamespaceSelector,
				"IntegrationMonitor"),
		}
	case *v1alpha1.LogsInstance:
		return []Choice{one("spec.", "podLogs", v.Spec.PodLogsSelector, v.Spec.PodLogsNamespaceSelector, "PodLogs")}
	}
	return nil
}

// NamespaceLabels returns the labels of a namespace as the API server would show them: those in the manifest, if there
// is one, and the immutable label with its name.
func NamespaceLabels(set *manifest.Set, name string) manifest.Labels {
	var written manifest.Labels
	if o := set.Get(manifest.ID{Kind: "Namespace", Name: name}); o != nil {
		written = o.Labels
	}
	return written.With(corev1.LabelMetadataName, name)
}
