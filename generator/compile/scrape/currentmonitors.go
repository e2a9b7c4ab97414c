package scrape

import (
	"maps"
	"strconv"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	prommodel "github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// ServiceMonitor returns the job of one endpoint, and findings about it.
func (c *Current) ServiceMonitor(m *monitoringv1.ServiceMonitor, endpoint int, secrets Secrets) (*model.ScrapeConfig,
	diag.List) {
	spec, ep := &m.Spec, &m.Spec.Endpoints[endpoint]
	index := strconv.Itoa(endpoint)
	j := c.newJob("serviceMonitor/"+m.Namespace+"/"+m.Name+"/"+index, "spec.endpoints["+index+"].", &m.ObjectMeta,
		"servicemonitors", spec.ScrapeClassName, secrets)
	role := c.prometheus.Role
	if spec.ServiceDiscoveryRole != nil {
		role = *spec.ServiceDiscoveryRole
	}
	meta, sdRole := &c.shared.endpoints, "endpoints"
	if role == monitoringv1.EndpointSliceRole {
		meta, sdRole = &c.shared.slices, "endpointslice"
	}
	j.kubernetes(sdRole, m.Namespace, spec.NamespaceSelector)
	j.attach(spec.AttachMetadata)
	j.http(endpointHTTP{honorLabels: ep.HonorLabels, honorTimestamps: ep.HonorTimestamps, path: ep.Path,
		scheme: ep.Scheme, params: ep.Params})
	j.config.Switches[model.TrackStaleness] = ep.TrackTimestampsStaleness
	j.timing(ep.Interval, ep.ScrapeTimeout)
	j.needCredentials(ep.Authorization)
	j.client(&ep.HTTPConfigWithoutTLS, ep.Authorization, ep.BearerTokenFile, ep.TLSConfig, &ep.ProxyConfig)
	j.limits(model.Counts{
		model.Samples: spec.SampleLimit, model.Targets: spec.TargetLimit, model.Labels: spec.LabelLimit,
		model.LabelNameLength: spec.LabelNameLengthLimit, model.LabelValueLength: spec.LabelValueLengthLimit,
		model.KeptDropped: spec.KeepDroppedTargets, model.HistogramBuckets: spec.NativeHistogramBucketLimit,
	}, spec.BodySizeLimit)
	j.formats(&spec.NativeHistogramConfig, spec.ScrapeProtocols, spec.FallbackScrapeProtocol)

	j.selectTargets("service", &spec.Selector, spec.SelectorMechanism, sdRole, "service")
	j.keepPort(meta.portName, ep.Port, ep.TargetPort, "targetPort")
	j.add(meta.rules...)
	j.dropFinished(ep.FilterRunning)
	j.copyLabels("service", "spec.targetLabels", spec.TargetLabels)
	j.copyLabels("pod", "spec.podTargetLabels", spec.PodTargetLabels)
	j.add(c.shared.podLabels...)
	j.add(c.shared.serviceJob)
	j.jobLabel("service", spec.JobLabel)
	j.nameEndpoint(ep.Port, ep.TargetPort)
	j.finish("relabelings", ep.RelabelConfigs, ep.MetricRelabelConfigs, c.shared.shard)
	return &j.config, j.found.List
}

// PodMonitor returns the job of one endpoint, and findings about it.
func (c *Current) PodMonitor(m *monitoringv1.PodMonitor, endpoint int, secrets Secrets) (*model.ScrapeConfig,
	diag.List) {
	spec, ep := &m.Spec, &m.Spec.PodMetricsEndpoints[endpoint]
	index := strconv.Itoa(endpoint)
	j := c.newJob("podMonitor/"+m.Namespace+"/"+m.Name+"/"+index, "spec.podMetricsEndpoints["+index+"].",
		&m.ObjectMeta,
		"podmonitors", spec.ScrapeClassName, secrets)
	j.kubernetes("pod", m.Namespace, spec.NamespaceSelector)
	j.attach(spec.AttachMetadata)
	j.http(endpointHTTP{honorLabels: ep.HonorLabels, honorTimestamps: ep.HonorTimestamps, path: ep.Path,
		scheme: ep.Scheme, params: ep.Params})
	j.config.Switches[model.TrackStaleness] = ep.TrackTimestampsStaleness
	j.timing(ep.Interval, ep.ScrapeTimeout)
	j.needCredentials(ep.Authorization)
	j.client(&ep.HTTPConfigWithoutTLS, ep.Authorization, "", withoutFiles(ep.TLSConfig), &ep.ProxyConfig)
	j.limits(model.Counts{
		model.Samples: spec.SampleLimit, model.Targets: spec.TargetLimit, model.Labels: spec.LabelLimit,
		model.LabelNameLength: spec.LabelNameLengthLimit, model.LabelValueLength: spec.LabelValueLengthLimit,
		model.KeptDropped: spec.KeepDroppedTargets, model.HistogramBuckets: spec.NativeHistogramBucketLimit,
	}, spec.BodySizeLimit)
	j.formats(&spec.NativeHistogramConfig, spec.ScrapeProtocols, spec.FallbackScrapeProtocol)

	port, target, targetField := podPort(ep)
	j.dropFinished(ep.FilterRunning)
	j.selectTargets("pod", &spec.Selector, spec.SelectorMechanism, "pod")
	j.keepPort("pod_container_port_name", port, target, targetField)
	j.add(c.shared.pods...)
	j.copyLabels("pod", "spec.podTargetLabels", spec.PodTargetLabels)
	j.add(c.shared.podLabels...)
	j.add(&model.Relabel{TargetLabel: "job", Replacement: model.Present(m.Namespace + "/" + m.Name)})
	j.jobLabel("pod", spec.JobLabel)
	j.nameEndpoint(port, target)
	j.finish("relabelings", ep.RelabelConfigs, ep.MetricRelabelConfigs, c.shared.shard)
	return &j.config, j.found.List
}

// podPort returns the port of a pod by its name, or else by its number or the deprecated targetPort, with that field.
func podPort(ep *monitoringv1.PodMetricsEndpoint) (name string, target *intstr.IntOrString, field string) {
	if ep.Port != nil {
		name = *ep.Port
	}
	if ep.PortNumber != nil && *ep.PortNumber != 0 {
		return name, new(intstr.FromInt32(*ep.PortNumber)), "portNumber"
	}
	return name, ep.TargetPort, "targetPort" //nolint:staticcheck // the Prometheus Operator renders it
}

// Probe returns the job of a Probe, and findings about it.
func (c *Current) Probe(m *monitoringv1.Probe, secrets Secrets) (*model.ScrapeConfig, diag.List) {
	spec := &m.Spec
	j := c.newJob("probe/"+m.Namespace+"/"+m.Name, "spec.", &m.ObjectMeta, "probes", spec.ScrapeClassName, secrets)
	j.config.Switches[model.HonorTimestamps] = new(!j.settings.OverrideHonorTimestamps)
	j.config.MetricsPath = spec.ProberSpec.Path
	if j.config.MetricsPath == "" {
		j.config.MetricsPath = defaultProbePath
	}
	j.config.Scheme = scheme(spec.ProberSpec.Scheme)
	j.config.Params = probeParams(spec)
	j.timing(spec.Interval, spec.ScrapeTimeout)
	j.client(&spec.HTTPConfigWithoutTLS, spec.Authorization, "", withoutFiles(spec.TLSConfig), nil)
	j.proberProxy(&spec.ProberSpec.ProxyConfig)
	j.limits(model.Counts{
		model.Samples: spec.SampleLimit, model.Targets: spec.TargetLimit, model.Labels: spec.LabelLimit,
		model.LabelNameLength: spec.LabelNameLengthLimit, model.LabelValueLength: spec.LabelValueLengthLimit,
		model.KeptDropped: spec.KeepDroppedTargets, model.HistogramBuckets: spec.NativeHistogramBucketLimit,
	}, nil)
	j.formats(&spec.NativeHistogramConfig, spec.ScrapeProtocols, spec.FallbackScrapeProtocol)
	j.checkHost(spec.ProberSpec.URL)

	if spec.JobName != "" {
		j.add(&model.Relabel{TargetLabel: "job", Replacement: model.Present(spec.JobName)})
	}
	static, ingress := spec.Targets.StaticConfig, spec.Targets.Ingress
	switch {
	case static != nil:
		if ingress != nil {
			j.found.Add(diag.NotRendered.At("spec.targets.ingress",
				"is not rendered: a Probe has one kind of targets, and staticConfig comes first"))
		}
		j.probeStatic(m, static)
		j.finish("targets.staticConfig.relabelingConfigs", static.RelabelConfigs, spec.MetricRelabelConfigs,
			c.shared.shardProbes)
	case ingress != nil:
		j.probeIngress(m, ingress)
		j.finish("targets.ingress.relabelingConfigs", ingress.RelabelConfigs, spec.MetricRelabelConfigs,
			c.shared.shardProbes)
	default:
		j.found.Add(diag.ProbeWithoutTargets.At("spec.targets",
			"a Probe needs targets.staticConfig or targets.ingress"))
	}
	return &j.config, j.found.List
}

// probeParams returns the parameters of a Probe's requests. The module is one of them.
func probeParams(spec *monitoringv1.ProbeSpec) map[string][]string {
	out := map[string][]string{}
	for _, p := range spec.Params {
		out[p.Name] = p.Values
	}
	if spec.Module != "" {
		out["module"] = []string{spec.Module}
	}
	return out
}

// checkHost refuses a prober that is not a host or host:port. The value is not shown, because it may hold a password.
func (j *currentJob) checkHost(address string) {
	if address == "" {
		j.found.Add(diag.InvalidURL.At("spec.prober.url",
			"is missing: a Probe needs a prober, like blackbox-exporter.monitoring:9115"))
		return
	}
	if !hostPort(address) {
		j.found.Add(diag.InvalidURL.At("spec.prober.url", "must be a host, or host:port, without a scheme or a path").
			WithHint("write a scheme other than http to spec.prober.scheme, and a path other than " +
				defaultProbePath +
				" to spec.prober.path"))
	}
}

func (j *currentJob) probeStatic(m *monitoringv1.Probe, static *monitoringv1.ProbeTargetStaticConfig) {
	if len(static.Targets) == 0 {
		j.found.Add(diag.ProbeWithoutTargets.At("spec.targets.staticConfig",
			"lists no targets in static: nothing is probed").As(diag.Warning))
	}
	labels := map[string]string{"namespace": m.Namespace}
	maps.Copy(labels, static.Labels)
	for name := range static.Labels {
		if !prommodel.LabelName(name).IsValidLegacy() {
			j.found.Add(diag.InvalidRelabeling.At("spec.targets.staticConfig.labels["+name+"]",
				"%q is not a label name", name))
		}
	}
	j.config.Static = &model.Static{Targets: static.Targets, Labels: labels}
	j.add(
		&model.Relabel{SourceLabels: []string{"__address__"}, TargetLabel: "__param_target"},
		&model.Relabel{SourceLabels: []string{"__param_target"}, TargetLabel: "instance"},
		&model.Relabel{TargetLabel: "__address__", Replacement: model.Present(m.Spec.ProberSpec.URL)},
	)
}

func (j *currentJob) probeIngress(m *monitoringv1.Probe, ingress *monitoringv1.ProbeTargetIngress) {
	j.kubernetes("ingress", m.Namespace, ingress.NamespaceSelector)
	j.selectTargets("ingress", &ingress.Selector, nil)
	j.add(j.current.shared.ingress...)
	j.add(&model.Relabel{TargetLabel: "__address__", Replacement: model.Present(m.Spec.ProberSpec.URL)})
}

// dropFinished drops pods that have come to their end, unless the monitor wants them.
func (j *currentJob) dropFinished(filterRunning *bool) {
	if filterRunning == nil || *filterRunning {
		j.add(j.Builder.rules.filterRunning)
	}
}

// nameEndpoint adds the label that distinguishes series of several ports, for any port that is written.
func (j *currentJob) nameEndpoint(port string, target *intstr.IntOrString) {
	if port == "" && target != nil {
		port = target.String()
	}
	j.setEndpoint(port)
}

// selectorPath is where the problem of a selector is found.
func selectorPath(what string) string {
	if what == "ingress" {
		return "spec.targets.ingress.selector"
	}
	return "spec.selector"
}
