package scrape

import (
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// A field that today's CRDs have and the operator's configuration never shows is not
// dropped in silence: each gets a warning that names it.

// field is one optional field and whether the monitor sets it.
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

func unrenderedServiceMonitor(f *findings, s *monitoringv1.ServiceMonitorSpec) {
	f.unrendered("spec.",
		field{"scrapeProtocols", len(s.ScrapeProtocols) > 0},
		field{"fallbackScrapeProtocol", s.FallbackScrapeProtocol != nil},
		field{"labelLimit", s.LabelLimit != nil},
		field{"labelNameLengthLimit", s.LabelNameLengthLimit != nil},
		field{"labelValueLengthLimit", s.LabelValueLengthLimit != nil},
		field{"keepDroppedTargets", s.KeepDroppedTargets != nil},
		field{"attachMetadata", s.AttachMetadata != nil},
		field{"scrapeClass", s.ScrapeClassName != nil},
		field{"bodySizeLimit", s.BodySizeLimit != nil},
		field{"serviceDiscoveryRole", s.ServiceDiscoveryRole != nil},
		field{"selectorMechanism", s.SelectorMechanism != nil},
	)
	unrenderedHistograms(f, &s.NativeHistogramConfig)
}

func unrenderedPodMonitor(f *findings, s *monitoringv1.PodMonitorSpec) {
	f.unrendered("spec.",
		field{"scrapeProtocols", len(s.ScrapeProtocols) > 0},
		field{"fallbackScrapeProtocol", s.FallbackScrapeProtocol != nil},
		field{"labelLimit", s.LabelLimit != nil},
		field{"labelNameLengthLimit", s.LabelNameLengthLimit != nil},
		field{"labelValueLengthLimit", s.LabelValueLengthLimit != nil},
		field{"keepDroppedTargets", s.KeepDroppedTargets != nil},
		field{"attachMetadata", s.AttachMetadata != nil},
		field{"scrapeClass", s.ScrapeClassName != nil},
		field{"bodySizeLimit", s.BodySizeLimit != nil},
		field{"selectorMechanism", s.SelectorMechanism != nil},
	)
	unrenderedHistograms(f, &s.NativeHistogramConfig)
}

func unrenderedProbe(f *findings, s *monitoringv1.ProbeSpec) {
	f.unrendered("spec.",
		field{"metricRelabelings", len(s.MetricRelabelConfigs) > 0},
		field{"sampleLimit", s.SampleLimit != nil},
		field{"targetLimit", s.TargetLimit != nil},
		field{"scrapeProtocols", len(s.ScrapeProtocols) > 0},
		field{"fallbackScrapeProtocol", s.FallbackScrapeProtocol != nil},
		field{"labelLimit", s.LabelLimit != nil},
		field{"labelNameLengthLimit", s.LabelNameLengthLimit != nil},
		field{"labelValueLengthLimit", s.LabelValueLengthLimit != nil},
		field{"keepDroppedTargets", s.KeepDroppedTargets != nil},
		field{"scrapeClass", s.ScrapeClassName != nil},
		field{"params", len(s.Params) > 0},
		field{"authorization", s.Authorization != nil || s.HTTPConfigWithoutTLS.Authorization != nil},
	)
	f.unrendered("spec.prober.", field{"proxyUrl", s.ProberSpec.ProxyURL != nil})
	unrenderedHistograms(f, &s.NativeHistogramConfig)
	unrenderedProxy(f, "spec.prober.", &s.ProberSpec.ProxyConfig)
	unrenderedHTTP(f, "spec.", &s.HTTPConfigWithoutTLS)
	unrenderedTLS(f, "spec.", s.TLSConfig)
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

func unrenderedEndpoint(f *findings, path string, ep *monitoringv1.Endpoint) {
	f.unrendered(path, field{"trackTimestampsStaleness", ep.TrackTimestampsStaleness != nil},
		field{"authorization", ep.Authorization != nil})
	unrenderedHTTP(f, path, &ep.HTTPConfigWithoutTLS)
	unrenderedProxy(f, path, &ep.ProxyConfig)
	if ep.TLSConfig != nil {
		unrenderedTLS(f, path, &ep.TLSConfig.SafeTLSConfig)
	}
}

func unrenderedPodEndpoint(f *findings, path string, ep *monitoringv1.PodMetricsEndpoint) {
	f.unrendered(path, field{"trackTimestampsStaleness", ep.TrackTimestampsStaleness != nil},
		field{"portNumber", ep.PortNumber != nil}, field{"authorization", ep.Authorization != nil})
	unrenderedHTTP(f, path, &ep.HTTPConfigWithoutTLS)
	unrenderedProxy(f, path, &ep.ProxyConfig)
	unrenderedTLS(f, path, ep.TLSConfig)
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
