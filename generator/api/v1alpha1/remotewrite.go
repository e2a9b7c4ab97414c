package v1alpha1

import (
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
	// OAuth 2.0 client credentials.
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
	// Bearer token in clear text.
	BearerToken string `json:"bearerToken,omitempty"`
	// File in the agent's pod that holds the bearer token.
	BearerTokenFile string `json:"bearerTokenFile,omitempty"`
	// AWS request signing.
	SigV4 *SigV4Config `json:"sigv4,omitempty"`
	// TLS settings.
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
	// Proxy to send through.
	ProxyURL string `json:"proxyUrl,omitempty"`
	// Tuning of the queue.
	QueueConfig *QueueConfig `json:"queueConfig,omitempty"`
	// Sending of metadata (types and help texts). An empty object switches it off.
	MetadataConfig *MetadataConfig `json:"metadataConfig,omitempty"`
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
	// Retry when the server answers 429. The operator never rendered it: the agent always does.
	RetryOnRateLimit bool `json:"retryOnRateLimit,omitempty"`
}

// MetadataConfig says whether and how often metadata are sent.
type MetadataConfig struct {
	// Whether to send metadata. The operator reads absent as false.
	Send *bool `json:"send,omitempty"`
	// Time between sends.
	SendInterval string `json:"sendInterval,omitempty"`
}
