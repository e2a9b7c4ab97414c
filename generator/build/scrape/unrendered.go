package scrape

import (
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Fields that today's CRDs have and the operator never renders get a warning that names them. The fields of
// monitors are listed in monitors.go, beside the code that renders the others.

// field is an optional field, and whether the monitor sets it to something else than its default.
type field struct {
	name string
	set  bool
}

// differs reports whether a field is set, and not to its default: then it has no effect in other programs either.
func differs[T comparable](value *T, standard T) bool { return value != nil && *value != standard }

func (f *findings) unrendered(path string, fields ...field) {
	for _, one := range fields {
		if one.set {
			f.report(diag.Warning, diag.NotRendered, path+one.name, "is not rendered: the Grafana Agent Operator does not know or ignores it")
		}
	}
}

func unrenderedHistograms(f *findings, c *monitoringv1.NativeHistogramConfig) {
	f.unrendered("spec.",
		field{"scrapeNativeHistograms", differs(c.ScrapeNativeHistograms, false)},
		field{"scrapeClassicHistograms", differs(c.ScrapeClassicHistograms, false)},
		field{"nativeHistogramBucketLimit", differs(c.NativeHistogramBucketLimit, 0)},
		field{"nativeHistogramMinBucketFactor", c.NativeHistogramMinBucketFactor != nil},
		field{"convertClassicHistogramsToNHCB", differs(c.ConvertClassicHistogramsToNHCB, false)},
	)
}

func unrenderedHTTP(f *findings, path string, c *monitoringv1.HTTPConfigWithoutTLS) {
	f.unrendered(path,
		field{"oauth2", c.OAuth2 != nil},
		field{"followRedirects", differs(c.FollowRedirects, true)},
	)
}

func unrenderedProxy(f *findings, path string, c *monitoringv1.ProxyConfig) {
	f.unrendered(path,
		field{"noProxy", differs(c.NoProxy, "")},
		field{"proxyFromEnvironment", differs(c.ProxyFromEnvironment, false)},
		field{"proxyConnectHeader", len(c.ProxyConnectHeader) > 0},
	)
}

func unrenderedTLS(f *findings, path string, c *monitoringv1.SafeTLSConfig) {
	if c == nil {
		return
	}
	f.unrendered(path+"tlsConfig.",
		field{"minVersion", differs(c.MinVersion, monitoringv1.TLSVersion12)},
		field{"maxVersion", c.MaxVersion != nil},
	)
}
