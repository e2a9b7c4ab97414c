package scrape

import (
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
)

// endpointHTTP holds what endpoints of ServiceMonitors and PodMonitors share.
type endpointHTTP struct {
	honorLabels     bool
	honorTimestamps *bool
	path            string
	scheme          *monitoringv1.Scheme
	params          map[string][]string
	proxy           *string
	enableHTTP2     *bool
}

func (j *job) http(e endpointHTTP) {
	honorLabels := e.honorLabels && !j.settings.OverrideHonorLabels
	j.config.HonorLabels = &honorLabels
	j.config.HonorTimestamps = e.honorTimestamps
	if j.settings.OverrideHonorTimestamps {
		no := false
		j.config.HonorTimestamps = &no
	}
	j.config.MetricsPath = e.path
	j.config.Scheme = scheme(e.scheme)
	j.config.Params = e.params
	if e.proxy != nil {
		j.config.ProxyURL = *e.proxy
		j.found.checkURL(j.path+"proxyUrl", *e.proxy)
	}
	if e.enableHTTP2 != nil && !*e.enableHTTP2 {
		j.config.EnableHTTP2 = e.enableHTTP2
	}
}

func scheme(s *monitoringv1.Scheme) string {
	if s == nil {
		return ""
	}
	return strings.ToLower(string(*s)) // today's CRDs accept HTTPS in capitals too
}

// bearer returns the token reference of an endpoint, or nil. The field is deprecated, but most monitors use it.
func bearer(c *monitoringv1.HTTPConfigWithoutTLS) *corev1.SecretKeySelector {
	if c.BearerTokenSecret == nil || c.BearerTokenSecret.Name == "" { //nolint:staticcheck // the operator renders it
		return nil
	}
	return c.BearerTokenSecret //nolint:staticcheck // the operator renders it
}
