package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// LogsInstance is one instance of the agent's logs subsystem: which pods to read, and
// where to send their lines.
//
// +kubebuilder:resource:path=logsinstances,singular=logsinstance,categories=agent-operator
type LogsInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which pods to read, and where to send their lines.
	Spec LogsInstanceSpec `json:"spec,omitempty"`
}

// LogsInstanceSpec selects PodLogs and says where their lines go.
type LogsInstanceSpec struct {
	// Where to send logs. Empty: where the GrafanaAgent says.
	Clients []LogsClientSpec `json:"clients,omitempty"`
	// Which PodLogs to read, by their labels.
	PodLogsSelector *metav1.LabelSelector `json:"podLogsSelector,omitempty"`
	// Which namespaces to look for PodLogs in, by their labels.
	PodLogsNamespaceSelector *metav1.LabelSelector `json:"podLogsNamespaceSelector,omitempty"`
	// Secret key that holds a YAML list of Promtail scrape configs to append.
	AdditionalScrapeConfigs *corev1.SecretKeySelector `json:"additionalScrapeConfigs,omitempty"`
	// How files are watched.
	TargetConfig *LogsTargetConfigSpec `json:"targetConfig,omitempty"`
}

// LogsTargetConfigSpec says how log files are watched.
type LogsTargetConfigSpec struct {
	// Time between looks at the directories that are watched and the files that are read.
	SyncPeriod string `json:"syncPeriod,omitempty"`
}

// LogsClientSpec is one place that logs are sent to. References are resolved in the
// namespace of the object that holds it. Zero and empty are the agent's defaults.
type LogsClientSpec struct {
	// URL to send to, with its path: http://loki:3100/loki/api/v1/push.
	// +required
	URL string `json:"url"`
	// Tenant to send as.
	TenantID string `json:"tenantId,omitempty"`
	// Time a line may wait for its batch to fill.
	BatchWait string `json:"batchWait,omitempty"`
	// Bytes per batch.
	BatchSize int `json:"batchSize,omitempty"`
	// User name and password.
	BasicAuth *monitoringv1.BasicAuth `json:"basicAuth,omitempty"`
	// OAuth 2.0 client credentials.
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
	// Bearer token in clear text.
	BearerToken string `json:"bearerToken,omitempty"`
	// File in the agent's pod that holds the bearer token.
	BearerTokenFile string `json:"bearerTokenFile,omitempty"`
	// Proxy to send through.
	ProxyURL string `json:"proxyUrl,omitempty"`
	// TLS settings.
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
	// Retries.
	BackoffConfig *LogsBackoffConfigSpec `json:"backoffConfig,omitempty"`
	// Labels to add to everything that is sent.
	ExternalLabels map[string]string `json:"externalLabels,omitempty"`
	// Time one request may take.
	Timeout string `json:"timeout,omitempty"`
}

// LogsBackoffConfigSpec says how failed requests are retried.
type LogsBackoffConfigSpec struct {
	// First time to wait before a retry.
	MinPeriod string `json:"minPeriod,omitempty"`
	// Longest time to wait before a retry.
	MaxPeriod string `json:"maxPeriod,omitempty"`
	// Retries before a batch is dropped.
	MaxRetries int `json:"maxRetries,omitempty"`
}
