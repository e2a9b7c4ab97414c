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

func (j *job) unrendered(path string, fields ...field) {
	for _, f := range fields {
		if f.set {
			j.report(diag.Warning, diag.NotRendered, path+f.name, "is not rendered: the Grafana Agent Operator does not know or ignores it")
		}
	}
}

func (j *job) unrenderedServiceMonitor(s *monitoringv1.ServiceMonitorSpec) {
	j.unrendered("spec.",
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
	j.unrenderedHistograms(&s.NativeHistogramConfig)
}

func (j *job) unrenderedPodMonitor(s *monitoringv1.PodMonitorSpec) {
	j.unrendered("spec.",
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
	j.unrenderedHistograms(&s.NativeHistogramConfig)
}

func (j *job) unrenderedProbe(s *monitoringv1.ProbeSpec) {
	j.unrendered("spec.",
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
	j.unrendered("spec.prober.", field{"proxyUrl", s.ProberSpec.ProxyURL != nil})
	j.unrenderedHistograms(&s.NativeHistogramConfig)
	j.unrenderedProxy(&s.ProberSpec.ProxyConfig, "spec.prober.")
	j.unrenderedHTTP(&s.HTTPConfigWithoutTLS)
	j.unrenderedTLS(s.TLSConfig)
}

func (j *job) unrenderedHistograms(c *monitoringv1.NativeHistogramConfig) {
	j.unrendered("spec.",
		field{"scrapeNativeHistograms", c.ScrapeNativeHistograms != nil},
		field{"scrapeClassicHistograms", c.ScrapeClassicHistograms != nil},
		field{"nativeHistogramBucketLimit", c.NativeHistogramBucketLimit != nil},
		field{"nativeHistogramMinBucketFactor", c.NativeHistogramMinBucketFactor != nil},
		field{"convertClassicHistogramsToNHCB", c.ConvertClassicHistogramsToNHCB != nil},
	)
}

func (j *job) unrenderedEndpoint(ep *monitoringv1.Endpoint) {
	j.unrendered(j.path, field{"trackTimestampsStaleness", ep.TrackTimestampsStaleness != nil},
		field{"authorization", ep.Authorization != nil})
	j.unrenderedHTTP(&ep.HTTPConfigWithoutTLS)
	j.unrenderedProxy(&ep.ProxyConfig, j.path)
	if ep.TLSConfig != nil {
		j.unrenderedTLS(&ep.TLSConfig.SafeTLSConfig)
	}
}

func (j *job) unrenderedPodEndpoint(ep *monitoringv1.PodMetricsEndpoint) {
	j.unrendered(j.path, field{"trackTimestampsStaleness", ep.TrackTimestampsStaleness != nil},
		field{"portNumber", ep.PortNumber != nil}, field{"authorization", ep.Authorization != nil})
	j.unrenderedHTTP(&ep.HTTPConfigWithoutTLS)
	j.unrenderedProxy(&ep.ProxyConfig, j.path)
	j.unrenderedTLS(ep.TLSConfig)
}

func (j *job) unrenderedHTTP(c *monitoringv1.HTTPConfigWithoutTLS) {
	j.unrendered(j.path,
		field{"oauth2", c.OAuth2 != nil},
		field{"followRedirects", c.FollowRedirects != nil},
	)
}

func (j *job) unrenderedProxy(c *monitoringv1.ProxyConfig, path string) {
	j.unrendered(path,
		field{"noProxy", c.NoProxy != nil},
		field{"proxyFromEnvironment", c.ProxyFromEnvironment != nil},
		field{"proxyConnectHeader", len(c.ProxyConnectHeader) > 0},
	)
}

func (j *job) unrenderedTLS(c *monitoringv1.SafeTLSConfig) {
	if c == nil {
		return
	}
	j.unrendered(j.path+"tlsConfig.",
		field{"minVersion", c.MinVersion != nil},
		field{"maxVersion", c.MaxVersion != nil},
	)
}
