package manifest

import (
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

// unknownKind explains why an object of a group that agentry reads is not read. The message is empty if there
// is nothing to explain.
func unknownKind(apiVersion, kind string) (message, hint string) {
	if isScrapeConfig(apiVersion, kind) {
		return "ScrapeConfigs are ignored in compatibility mode operator: the Grafana Agent Operator does not know them",
			"to scrape them, set compatibility: current in the pipeline (or --compatibility current), and let the scrapeConfigSelector of a MetricsInstance select them"
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	var version string
	var known []string
	switch group {
	case v1alpha1.Group:
		version, known = v1alpha1.APIVersion, ownKinds()
	case promGroup:
		version, known = promVersion, promKinds()
		if kind == prometheusv1alpha1.ScrapeConfigsKind {
			version = promAlpha
		}
	default:
		return "", ""
	}
	if apiVersion == v1alpha1.Group+"/v1alpha2" && kind == v1alpha1.PodLogsKind {
		return "PodLogs of v1alpha2 is a resource of Grafana Alloy, and is ignored",
			"for the Grafana Agent write " + v1alpha1.APIVersion
	}
	for _, k := range known {
		if k == kind {
			return kind + " of " + apiVersion + " is not known, and is ignored", "write apiVersion: " + version
		}
	}
	if group == promGroup {
		for _, k := range otherPromKinds() {
			if k == kind {
				return "", ""
			}
		}
	}
	return kind + " is not a kind of " + apiVersion + " that is known, and is ignored", diag.DidYouMean(kind, known)
}
