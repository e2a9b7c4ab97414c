package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetricsInstance is one instance of the agent's metrics subsystem: what to scrape, and
// where to send it.
//
// +kubebuilder:resource:path=metricsinstances,singular=metricsinstance,categories=agent-operator
type MetricsInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to scrape, and where to send it.
	Spec MetricsInstanceSpec `json:"spec,omitempty"`
}

// MetricsInstanceSpec selects monitors and says where their metrics go.
type MetricsInstanceSpec struct {
	// Time between truncations of the write-ahead log.
	WALTruncateFrequency string `json:"walTruncateFrequency,omitempty"`
	// Least time that samples stay in the write-ahead log.
	MinWALTime string `json:"minWALTime,omitempty"`
	// Longest time that samples stay in the write-ahead log.
	MaxWALTime string `json:"maxWALTime,omitempty"`
	// Time to flush for when the instance stops.
	RemoteFlushDeadline string `json:"remoteFlushDeadline,omitempty"`
	// Write staleness markers when the instance stops.
	WriteStaleOnShutdown *bool `json:"writeStaleOnShutdown,omitempty"`
	// Which ServiceMonitors to scrape, by their labels.
	ServiceMonitorSelector *metav1.LabelSelector `json:"serviceMonitorSelector,omitempty"`
	// Which namespaces to look for ServiceMonitors in, by their labels.
	ServiceMonitorNamespaceSelector *metav1.LabelSelector `json:"serviceMonitorNamespaceSelector,omitempty"`
	// Which PodMonitors to scrape, by their labels.
	PodMonitorSelector *metav1.LabelSelector `json:"podMonitorSelector,omitempty"`
	// Which namespaces to look for PodMonitors in, by their labels.
	PodMonitorNamespaceSelector *metav1.LabelSelector `json:"podMonitorNamespaceSelector,omitempty"`
	// Which Probes to run, by their labels.
	ProbeSelector *metav1.LabelSelector `json:"probeSelector,omitempty"`
	// Which namespaces to look for Probes in, by their labels.
	ProbeNamespaceSelector *metav1.LabelSelector `json:"probeNamespaceSelector,omitempty"`
	// Which ScrapeConfigs to run, by their labels. agentry only, for compatibility mode current.
	ScrapeConfigSelector *metav1.LabelSelector `json:"scrapeConfigSelector,omitempty"`
	// Which namespaces to look for ScrapeConfigs in, by their labels. agentry only.
	ScrapeConfigNamespaceSelector *metav1.LabelSelector `json:"scrapeConfigNamespaceSelector,omitempty"`
	// Which IntegrationMonitors to scrape, by their labels. agentry only.
	IntegrationMonitorSelector *metav1.LabelSelector `json:"integrationMonitorSelector,omitempty"`
	// Which namespaces to look for IntegrationMonitors in, by their labels. agentry only.
	IntegrationMonitorNamespaceSelector *metav1.LabelSelector `json:"integrationMonitorNamespaceSelector,omitempty"`
	// Where to send metrics. Empty: where the GrafanaAgent says.
	RemoteWrite []RemoteWriteSpec `json:"remoteWrite,omitempty"`
	// Secret key that holds a YAML list of Prometheus scrape configs to append.
	AdditionalScrapeConfigs *corev1.SecretKeySelector `json:"additionalScrapeConfigs,omitempty"`
}
