package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// APIServerConfig says how to reach the Kubernetes API.
type APIServerConfig struct {
	// URL or host:port of the API server.
	// +required
	Host string `json:"host"`
	// User name and password, from Secrets of the GrafanaAgent's namespace.
	BasicAuth *monitoringv1.BasicAuth `json:"basicAuth,omitempty"`
	// Bearer token in clear text.
	BearerToken string `json:"bearerToken,omitempty"`
	// File in the agent's pod that holds the bearer token.
	BearerTokenFile string `json:"bearerTokenFile,omitempty"`
	// TLS settings.
	TLSConfig *TLSConfig `json:"tlsConfig,omitempty"`
	// Authorization header.
	Authorization *monitoringv1.Authorization `json:"authorization,omitempty"`
}

// OAuth2 is the client credentials flow.
type OAuth2 struct {
	// The client's ID, from a Secret or a ConfigMap.
	// +required
	ClientID monitoringv1.SecretOrConfigMap `json:"clientId"`
	// The client's secret.
	// +required
	ClientSecret corev1.SecretKeySelector `json:"clientSecret"`
	// URL that tokens are fetched from.
	// +required
	// +kubebuilder:validation:MinLength=1
	TokenURL string `json:"tokenUrl"`
	// Scopes to ask for.
	Scopes []string `json:"scopes,omitempty"`
	// Additional parameters of the token request.
	EndpointParams map[string]string `json:"endpointParams,omitempty"`
}

// SafeTLSConfig is TLS settings that read no file of the agent's pod.
type SafeTLSConfig struct {
	// Certificate authority to verify the server with.
	CA monitoringv1.SecretOrConfigMap `json:"ca,omitempty"`
	// Client certificate.
	Cert monitoringv1.SecretOrConfigMap `json:"cert,omitempty"`
	// Key of the client certificate.
	KeySecret *corev1.SecretKeySelector `json:"keySecret,omitempty"`
	// Name to verify the server's certificate against.
	ServerName *string `json:"serverName,omitempty"`
	// Do not verify the server's certificate.
	InsecureSkipVerify *bool `json:"insecureSkipVerify,omitempty"`
}

// TLSConfig is TLS settings that may read files of the agent's pod. A file wins over the
// reference for the same thing.
type TLSConfig struct {
	SafeTLSConfig `json:",inline"`
	// File that holds the certificate authority.
	CAFile string `json:"caFile,omitempty"`
	// File that holds the client certificate.
	CertFile string `json:"certFile,omitempty"`
	// File that holds the key of the client certificate.
	KeyFile string `json:"keyFile,omitempty"`
}

// SigV4Config signs requests for AWS. An empty one takes everything from the environment.
type SigV4Config struct {
	// AWS region.
	Region string `json:"region,omitempty"`
	// AWS access key ID.
	AccessKey *corev1.SecretKeySelector `json:"accessKey,omitempty"`
	// AWS secret access key.
	SecretKey *corev1.SecretKeySelector `json:"secretKey,omitempty"`
	// Profile of the shared credentials file.
	Profile string `json:"profile,omitempty"`
	// Role to assume.
	RoleARN string `json:"roleARN,omitempty"`
}
