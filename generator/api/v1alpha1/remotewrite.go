package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// RemoteWriteSpec is one place that metrics are sent to. References are resolved in the
// namespace of the object that holds it.
type RemoteWriteSpec struct {
	// Name of the queue, in the agent's own metrics and logs.
	Name string `json:"name,omitempty"`
	// URL to send to.
	// +required
	URL string `json:"url"`
	// Time one request may take.
	RemoteTimeout string `json:"remoteTimeout,omitempty"`
	// Additional HTTP headers.
	Headers map[string]string `json:"headers,omitempty"`
	// Relabelling of what is sent.
	WriteRelabelConfigs []RelabelConfig `json:"writeRelabelConfigs,omitempty"`
	// User name and password.
	BasicAuth *monitoringv1.BasicAuth `json:"basicAuth,omitempty"`
	// OAuth 2.0 client credentials. TLS and proxy of the token request: agentry only.
	OAuth2 *monitoringv1.OAuth2 `json:"oauth2,omitempty"`
	// Bearer token in clear text.
	BearerToken string `json:"bearerToken,omitempty"`
	// File in the agent's pod that holds the bearer token.
	BearerTokenFile string `json:"bearerTokenFile,omitempty"`
	// AWS request signing.
	SigV4 *SigV4Config `json:"sigv4,omitempty"`
	// TLS settings. minVersion and maxVersion: agentry only.
	TLSConfig *monitoringv1.TLSConfig `json:"tlsConfig,omitempty"`
	// Proxy to send through.
	ProxyURL string `json:"proxyUrl,omitempty"`
	// Tuning of the queue.
	QueueConfig *QueueConfig `json:"queueConfig,omitempty"`
	// Sending of metadata (types and help texts). An empty object switches it off.
	MetadataConfig *MetadataConfig `json:"metadataConfig,omitempty"`
	// What the Prometheus object has and the operator's remoteWrite had not.
	PrometheusWriter `json:",inline"`
}

// PrometheusWriter are fields of a remoteWrite of the Prometheus Operator's Prometheus object, for compatibility mode
// current. agentry only.
type PrometheusWriter struct {
	// Authorization header.
	Authorization *monitoringv1.Authorization `json:"authorization,omitempty"`
	// Azure AD.
	AzureAD *monitoringv1.AzureAD `json:"azureAd,omitempty"`
	// Addresses to reach without the proxy, separated by commas.
	NoProxy *string `json:"noProxy,omitempty"`
	// Take the proxy from the environment of the agent's container.
	ProxyFromEnvironment *bool `json:"proxyFromEnvironment,omitempty"`
	// Headers for the proxy.
	// +mapType:=atomic
	ProxyConnectHeader map[string][]corev1.SecretKeySelector `json:"proxyConnectHeader,omitempty"`
	// Whether to use HTTP/2.
	EnableHTTP2 *bool `json:"enableHTTP2,omitempty"`
	// Whether to follow redirects.
	FollowRedirects *bool `json:"followRedirects,omitempty"`
	// Whether to send exemplars. Absent: the agent's own (true).
	SendExemplars *bool `json:"sendExemplars,omitempty"`
	// Whether to send native histograms.
	SendNativeHistograms *bool `json:"sendNativeHistograms,omitempty"`
	// Version of the protocol. Only the runtime alloy has V2.0.
	MessageVersion *monitoringv1.RemoteWriteMessageVersion `json:"messageVersion,omitempty"`
	// Choose one address of the host at random. Runtime alloy only.
	RoundRobinDNS *bool `json:"roundRobinDNS,omitempty"`
}

// QueueConfig tunes the queue of a remote write. Zero and empty are the agent's defaults.
type QueueConfig struct {
	// Samples to buffer per shard.
	Capacity int `json:"capacity,omitempty"`
	// Least number of shards.
	MinShards int `json:"minShards,omitempty"`
	// Greatest number of shards.
	MaxShards int `json:"maxShards,omitempty"`
	// Samples per request.
	MaxSamplesPerSend int `json:"maxSamplesPerSend,omitempty"`
	// Time a sample may wait for its request to fill.
	BatchSendDeadline string `json:"batchSendDeadline,omitempty"`
	// The operator never rendered it: the agent has no such setting.
	MaxRetries int `json:"maxRetries,omitempty"`
	// First time to wait before a retry.
	MinBackoff string `json:"minBackoff,omitempty"`
	// Longest time to wait before a retry.
	MaxBackoff string `json:"maxBackoff,omitempty"`
	// Retry when the server answers 429. The operator never rendered it. Absent: the agent's own (true).
	RetryOnRateLimit *bool `json:"retryOnRateLimit,omitempty"`
	// Age from which samples are dropped instead of sent. agentry only.
	SampleAgeLimit *monitoringv1.Duration `json:"sampleAgeLimit,omitempty"`
}

// MetadataConfig says whether and how often metadata are sent.
type MetadataConfig struct {
	// Whether to send metadata. The operator reads absent as false.
	Send *bool `json:"send,omitempty"`
	// Time between sends.
	SendInterval string `json:"sendInterval,omitempty"`
	// Metadata per request. agentry only.
	// +kubebuilder:validation:Minimum=-1
	MaxSamplesPerSend *int32 `json:"maxSamplesPerSend,omitempty"`
}
