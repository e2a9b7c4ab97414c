package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	prometheusv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
)

const (
	coreVersion   = "v1"
	promGroup     = "monitoring.coreos.com"
	promVersion   = promGroup + "/v1"
	promAlpha     = promGroup + "/v1alpha1"
	NamespaceKind = "Namespace"
)

// typed is the Go value of an object.
type typed interface {
	metav1.ObjectMetaAccessor
}

// newValue returns an empty value of a kind, or nil if agentry does not read the kind.
func newValue(apiVersion, kind string) typed {
	switch apiVersion {
	case v1alpha1.APIVersion:
		return newOwn(kind)
	case promVersion:
		switch kind {
		case monitoringv1.ServiceMonitorsKind:
			return &monitoringv1.ServiceMonitor{}
		case monitoringv1.PodMonitorsKind:
			return &monitoringv1.PodMonitor{}
		case monitoringv1.ProbesKind:
			return &monitoringv1.Probe{}
		}
	case promAlpha:
		if isScrapeConfig(apiVersion, kind) {
			return &prometheusv1alpha1.ScrapeConfig{}
		}
	case coreVersion:
		switch kind {
		case "Secret":
			return &corev1.Secret{}
		case "ConfigMap":
			return &corev1.ConfigMap{}
		case NamespaceKind:
			return &corev1.Namespace{}
		}
	}
	return nil
}

// isScrapeConfig reports whether a kind is the one that only mode [Current] reads.
func isScrapeConfig(apiVersion, kind string) bool {
	return apiVersion == promAlpha && kind == prometheusv1alpha1.ScrapeConfigsKind
}

func newOwn(kind string) typed {
	switch kind {
	case v1alpha1.GrafanaAgentKind:
		return &v1alpha1.GrafanaAgent{}
	case v1alpha1.MetricsInstanceKind:
		return &v1alpha1.MetricsInstance{}
	case v1alpha1.LogsInstanceKind:
		return &v1alpha1.LogsInstance{}
	case v1alpha1.PodLogsKind:
		return &v1alpha1.PodLogs{}
	case v1alpha1.IntegrationKind:
		return &v1alpha1.Integration{}
	case v1alpha1.MetricsIntegrationKind:
		return &v1alpha1.MetricsIntegration{}
	case v1alpha1.IntegrationMonitorKind:
		return &v1alpha1.IntegrationMonitor{}
	}
	return nil
}

// Kinds returns the kinds that agentry reads.
func Kinds() []string {
	return append(append(ownKinds(), promKinds()...), "Secret", "ConfigMap", NamespaceKind)
}

func ownKinds() []string {
	return []string{
		v1alpha1.GrafanaAgentKind, v1alpha1.MetricsInstanceKind, v1alpha1.LogsInstanceKind, v1alpha1.PodLogsKind,
		v1alpha1.IntegrationKind, v1alpha1.MetricsIntegrationKind, v1alpha1.IntegrationMonitorKind,
	}
}

func promKinds() []string {
	return []string{monitoringv1.ServiceMonitorsKind, monitoringv1.PodMonitorsKind, monitoringv1.ProbesKind,
		prometheusv1alpha1.ScrapeConfigsKind}
}

// otherPromKinds are the Prometheus Operator's kinds that agentry does not use.
func otherPromKinds() []string {
	return []string{
		"Prometheus", "PrometheusAgent", "PrometheusRule", "Alertmanager", "AlertmanagerConfig", "ThanosRuler",
	}
}

// unknown is the finding about an object of a kind that agentry does not read. If the kind is clearly a misspelling, it
// is an error, as to an API server: the object must not get lost. The message is empty if there is no finding.
type unknown struct{ message, hint, meant string }

func unknownKind(apiVersion, kind string) unknown {
	if isScrapeConfig(apiVersion, kind) {
		return unknown{
			message: "ScrapeConfigs are ignored in compatibility mode operator: the Grafana Agent Operator does not " +
				"know them",
			hint: "to scrape them, set compatibility: current in the pipeline (or --compatibility current), and " +
				"let the scrapeConfigSelector of a MetricsInstance select them",
		}
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	if group != v1alpha1.Group && group != promGroup {
		return unknownGroup(apiVersion, group, kind)
	}
	if apiVersion == v1alpha1.Group+"/v1alpha2" && kind == v1alpha1.PodLogsKind {
		return unknown{message: "PodLogs of v1alpha2 is a resource of Grafana Alloy, and is ignored",
			hint: "for the Grafana Agent write " + v1alpha1.APIVersion}
	}
	known, other := ownKinds(), promKinds()
	if group == promGroup {
		known, other = other, known
		if slices.Contains(otherPromKinds(), kind) {
			return unknown{}
		}
	}
	if slices.Contains(known, kind) || slices.Contains(other, kind) {
		return unknown{kind + " of " + apiVersion + " is not known", "write apiVersion: " + versionOf(kind), kind}
	}
	message := kind + " is not a kind of " + apiVersion + " that is known"
	if meant, found := diag.Suggest(kind, known); found {
		return unknown{message, diag.DidYouMean(kind, known), meant}
	}
	return unknown{message: message + ", and is ignored"}
}

// azureGroup is the group of Azure's copies of ServiceMonitor and PodMonitor, which are for another program.
const azureGroup = "azmonitoring.coreos.com"

// unknownGroup returns the finding about a kind that agentry reads in a group that is like the kind's own.
func unknownGroup(apiVersion, group, kind string) unknown {
	if read := []string{NamespaceKind, "Secret", "ConfigMap"}; apiVersion == "v1" && !slices.Contains(read, kind) {
		if meant, found := diag.Suggest(kind, read); found {
			return unknown{kind + " is not a kind of v1 that is known", diag.DidYouMean(kind, read), meant}
		}
	}
	if !slices.Contains(append(ownKinds(), promKinds()...), kind) || group == azureGroup {
		return unknown{}
	}
	own, _, _ := strings.Cut(versionOf(kind), "/")
	if _, isLike := diag.Suggest(group, []string{own}); !isLike {
		return unknown{}
	}
	return unknown{kind + " of " + apiVersion + " is not known", "write apiVersion: " + versionOf(kind), kind}
}

// versionOf returns the apiVersion of a kind that agentry reads.
func versionOf(kind string) string {
	switch {
	case slices.Contains(ownKinds(), kind):
		return v1alpha1.APIVersion
	case kind == prometheusv1alpha1.ScrapeConfigsKind:
		return promAlpha
	}
	return promVersion
}
