package scrape

import (
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Fields that today's CRDs have and the operator never renders get a warning that names them. The fields of
// monitors are listed in monitors.go, beside the code that renders the others.

// field is an optional field, and whether the monitor sets it.
type field struct {
	name string
	set  bool
}

func (f *findings) unrendered(path string, fields ...field) {
	for _, one := range fields {
		if one.set {
			f.report(diag.Warning, diag.NotRendered, path+one.name, "is not rendered: the Grafana Agent Operator does not know or ignores it")
		}
	}
}

func unrenderedHistograms(f *findings, c *monitoringv1.NativeHistogramConfig) {
	f.unrendered("spec.",
		field{"scrapeNativeHistograms", c.ScrapeNativeHistograms != nil},
		field{"scrapeClassicHistograms", c.ScrapeClassicHistograms != nil},
		field{"nativeHistogramBucketLimit", c.NativeHistogramBucketLimit != nil},
		field{"nativeHistogramMinBucketFactor", c.NativeHistogramMinBucketFactor != nil},
		field{"convertClassicHistogramsToNHCB", c.ConvertClassicHistogramsToNHCB != nil},
	)
}

func unrenderedHTTP(f *findings, path string, c *monitoringv1.HTTPConfigWithoutTLS) {
	f.unrendered(path,
		field{"oauth2", c.OAuth2 != nil},
		field{"followRedirects", c.FollowRedirects != nil},
	)
}

func unrenderedProxy(f *findings, path string, c *monitoringv1.ProxyConfig) {
	f.unrendered(path,
		field{"noProxy", c.NoProxy != nil},
		field{"proxyFromEnvironment", c.ProxyFromEnvironment != nil},
		field{"proxyConnectHeader", len(c.ProxyConnectHeader) > 0},
	)
}

func unrenderedTLS(f *findings, path string, c *monitoringv1.SafeTLSConfig) {
	if c == nil {
		return
	}
	f.unrendered(path+"tlsConfig.",
		field{"minVersion", c.MinVersion != nil},
		field{"maxVersion", c.MaxVersion != nil},
	)
}
