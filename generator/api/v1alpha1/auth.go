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
	// TLS settings. minVersion and maxVersion: agentry only.
	TLSConfig *monitoringv1.TLSConfig `json:"tlsConfig,omitempty"`
	// Authorization header. The operator never rendered it.
	Authorization *monitoringv1.Authorization `json:"authorization,omitempty"`
	// Proxy to reach the API server through. agentry only.
	monitoringv1.ProxyConfig `json:",inline"`
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

// Prometheus returns the settings as the Prometheus Operator's type, which knows more.
func (o *OAuth2) Prometheus() *monitoringv1.OAuth2 {
	if o == nil {
		return nil
	}
	return &monitoringv1.OAuth2{ClientID: o.ClientID, ClientSecret: o.ClientSecret,
		TokenURL: monitoringv1.URL(o.TokenURL), Scopes: o.Scopes, EndpointParams: o.EndpointParams}
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

// Prometheus returns the settings as the Prometheus Operator's type, which knows more.
func (t *TLSConfig) Prometheus() *monitoringv1.TLSConfig {
	if t == nil {
		return nil
	}
	return &monitoringv1.TLSConfig{
		SafeTLSConfig: monitoringv1.SafeTLSConfig{CA: t.CA, Cert: t.Cert, KeySecret: t.KeySecret,
			ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify},
		TLSFilesConfig: monitoringv1.TLSFilesConfig{CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile},
	}
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
	// External ID for the role. Runtime alloy only.
	ExternalID string `json:"externalId,omitempty"`
	// Use the FIPS endpoint of AWS. Runtime alloy only.
	UseFIPSSTSEndpoint *bool `json:"useFIPSSTSEndpoint,omitempty"`
}
