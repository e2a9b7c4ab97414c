package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// IntegrationMonitor scrapes MetricsIntegrations: like one endpoint of a ServiceMonitor,
// without port and path, which the integrations know themselves.
//
// +kubebuilder:resource:path=integrationmonitors,singular=integrationmonitor,categories=agent-operator
type IntegrationMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which integrations to scrape, and how.
	// +required
	Spec IntegrationMonitorSpec `json:"spec"`
}

// IntegrationMonitorScope is whose integrations are scraped.
//
// +kubebuilder:validation:Enum=own;all
type IntegrationMonitorScope string

// The scopes of IntegrationMonitors.
const (
	// ScopeOwn is the integrations of the GrafanaAgent that the monitor runs in.
	ScopeOwn IntegrationMonitorScope = "own"
	// ScopeAll is the integrations of all GrafanaAgents that the sd-aggregator sees.
	ScopeAll IntegrationMonitorScope = "all"
)

// IntegrationMonitorSpec selects MetricsIntegrations and says how they are scraped. The job
// label is not configurable: it is always integrations/<name>.
type IntegrationMonitorSpec struct {
	// Which MetricsIntegrations to scrape, by their labels.
	// +required
	Selector metav1.LabelSelector `json:"selector"`
	// Which namespaces the MetricsIntegrations may be of. Absent: the monitor's own.
	NamespaceSelector monitoringv1.NamespaceSelector `json:"namespaceSelector,omitempty"`
	// Whose integrations are scraped.
	// +kubebuilder:default=own
	Scope IntegrationMonitorScope `json:"scope,omitempty"`
	// Labels of the MetricsIntegration to copy onto the metrics.
	TargetLabels []string `json:"targetLabels,omitempty"`

	// Time between scrapes.
	Interval monitoringv1.Duration `json:"interval,omitempty"`
	// Time a scrape may take; not above the interval.
	ScrapeTimeout monitoringv1.Duration `json:"scrapeTimeout,omitempty"`
	// Scraped labels win over those of the target.
	HonorLabels bool `json:"honorLabels,omitempty"`
	// Scraped timestamps are kept. Absent: they are.
	HonorTimestamps *bool `json:"honorTimestamps,omitempty"`
	// Relabelling of the targets.
	RelabelConfigs []RelabelConfig `json:"relabelings,omitempty"`
	// Relabelling of what was scraped.
	MetricRelabelConfigs []RelabelConfig `json:"metricRelabelings,omitempty"`

	// Samples a scrape may return.
	// +kubebuilder:validation:Minimum=0
	SampleLimit *int64 `json:"sampleLimit,omitempty"`
	// Targets the job may have.
	// +kubebuilder:validation:Minimum=0
	TargetLimit *int64 `json:"targetLimit,omitempty"`
	// Labels a sample may have.
	// +kubebuilder:validation:Minimum=0
	LabelLimit *int64 `json:"labelLimit,omitempty"`
	// Bytes a label's name may have.
	// +kubebuilder:validation:Minimum=0
	LabelNameLengthLimit *int64 `json:"labelNameLengthLimit,omitempty"`
	// Bytes a label's value may have.
	// +kubebuilder:validation:Minimum=0
	LabelValueLengthLimit *int64 `json:"labelValueLengthLimit,omitempty"`
	// Size an uncompressed answer may have, for example 10MB.
	BodySizeLimit *monitoringv1.ByteSize `json:"bodySizeLimit,omitempty"`

	// Scheme to scrape with. Absent: what the integration's agent serves.
	// +kubebuilder:validation:Enum=http;https;HTTP;HTTPS
	Scheme string `json:"scheme,omitempty"`
	// Proxy to scrape through.
	ProxyURL string `json:"proxyUrl,omitempty"`
	// TLS settings.
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
	// User name and password, from Secrets of the monitor's namespace.
	BasicAuth *monitoringv1.BasicAuth `json:"basicAuth,omitempty"`
	// Authorization header.
	Authorization *monitoringv1.SafeAuthorization `json:"authorization,omitempty"`
	// OAuth 2.0 client credentials.
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
}
