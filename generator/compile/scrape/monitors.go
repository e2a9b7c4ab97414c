package scrape

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// baseRules is the number of relabelling rules of most jobs: their slice is allocated once.
const baseRules = 20

func (b *Builder) newJob(name, path string, secrets Secrets) *job {
	j := &job{Builder: b, secrets: secrets, path: path}
	j.config.JobName, j.config.Origin.Path = name, strings.TrimSuffix(path, ".")
	j.config.Relabel = make([]*model.Relabel, 0, baseRules)
	j.add(b.rules.jobName)
	return j
}

// ServiceMonitor returns the job of one endpoint, and findings about it.
func (b *Builder) ServiceMonitor(m *monitoringv1.ServiceMonitor, endpoint int, secrets Secrets) (*model.ScrapeConfig,
	diag.List) {
	spec, ep := &m.Spec, &m.Spec.Endpoints[endpoint]
	index := strconv.Itoa(endpoint)
	j := b.newJob("serviceMonitor/"+m.Namespace+"/"+m.Name+"/"+index, "spec.endpoints["+index+"].", secrets)
	j.kubernetes("endpoints", m.Namespace, spec.NamespaceSelector)
	j.http(endpointHTTP{
		honorLabels: ep.HonorLabels, honorTimestamps: ep.HonorTimestamps, path: ep.Path, scheme: ep.Scheme,
		params: ep.Params, proxy: ep.ProxyURL, enableHTTP2: ep.EnableHTTP2,
	})
	j.timing(ep.Interval, ep.ScrapeTimeout)
	j.config.HTTPAuth = j.access().auth(ep.BasicAuth, bearer(&ep.HTTPConfigWithoutTLS), ep.BearerTokenFile)
	j.config.TLS = j.access().fullTLS(ep.TLSConfig)
	j.config.Counts[model.Samples] = limit(spec.SampleLimit, b.settings.EnforcedSampleLimit)
	j.config.Counts[model.Targets] = limit(spec.TargetLimit, b.settings.EnforcedTargetLimit)

	j.selectLabels("service", "spec.selector", &spec.Selector)
	j.keepPort("endpoint_port_name", ep.Port, ep.TargetPort, "targetPort")
	j.add(b.rules.serviceMeta...)
	j.filterRunning(ep.FilterRunning)
	j.copyLabels("service", "spec.targetLabels", spec.TargetLabels)
	j.copyLabels("pod", "spec.podTargetLabels", spec.PodTargetLabels)
	j.add(b.rules.serviceJob)
	j.jobLabel("service", spec.JobLabel)
	j.endpointLabel(ep.Port, ep.TargetPort)
	j.userRules("relabelings", ep.RelabelConfigs)
	j.enforceNamespace(m.Namespace)
	j.add(b.rules.shard...)
	j.metricRules(ep.MetricRelabelConfigs)
	return &j.config, j.found.List
}

// PodMonitor returns the job of one endpoint, and findings about it.
func (b *Builder) PodMonitor(m *monitoringv1.PodMonitor, endpoint int, secrets Secrets) (*model.ScrapeConfig,
	diag.List) {
	spec, ep := &m.Spec, &m.Spec.PodMetricsEndpoints[endpoint]
	index := strconv.Itoa(endpoint)
	j := b.newJob("podMonitor/"+m.Namespace+"/"+m.Name+"/"+index, "spec.podMetricsEndpoints["+index+"].", secrets)
	j.kubernetes("pod", m.Namespace, spec.NamespaceSelector)
	j.http(endpointHTTP{
		honorLabels: ep.HonorLabels, honorTimestamps: ep.HonorTimestamps, path: ep.Path, scheme: ep.Scheme,
		params: ep.Params, proxy: ep.ProxyURL, enableHTTP2: ep.EnableHTTP2,
	})
	j.timing(ep.Interval, ep.ScrapeTimeout)
	j.config.HTTPAuth = j.access().auth(ep.BasicAuth, bearer(&ep.HTTPConfigWithoutTLS), "")
	j.config.TLS = j.access().safeTLS(ep.TLSConfig)
	j.config.Counts[model.Samples] = limit(spec.SampleLimit, b.settings.EnforcedSampleLimit)
	j.config.Counts[model.Targets] = limit(spec.TargetLimit, b.settings.EnforcedTargetLimit)

	port := ""
	if ep.Port != nil {
		port = *ep.Port
	}
	j.filterRunning(ep.FilterRunning)
	j.selectLabels("pod", "spec.selector", &spec.Selector)
	j.keepPort("pod_container_port_name", port, ep.TargetPort, "targetPort")
	j.add(b.rules.podMeta...)
	j.copyLabels("pod", "spec.podTargetLabels", spec.PodTargetLabels)
	j.add(&model.Relabel{TargetLabel: "job", Replacement: model.Present(m.Namespace + "/" + m.Name)})
	j.jobLabel("pod", spec.JobLabel)
	j.endpointLabel(port, ep.TargetPort)
	j.userRules("relabelings", ep.RelabelConfigs)
	j.enforceNamespace(m.Namespace)
	j.add(b.rules.shard...)
	j.metricRules(ep.MetricRelabelConfigs)
	return &j.config, j.found.List
}

// defaultProbePath is the operator's path for a Probe whose prober sets none.
const defaultProbePath = "/probe"

// Probe returns the job of a Probe, and findings about it. Probes are not sharded: every shard probes every
// target, as with the operator (reference defect A7).
func (b *Builder) Probe(m *monitoringv1.Probe, secrets Secrets) (*model.ScrapeConfig, diag.List) {
	spec := &m.Spec
	j := b.newJob("probe/"+m.Namespace+"/"+m.Name, "spec.", secrets)
	j.config.Switches[model.HonorTimestamps] = new(!b.settings.OverrideHonorTimestamps)
	j.config.MetricsPath = spec.ProberSpec.Path
	if j.config.MetricsPath == "" {
		j.config.MetricsPath = defaultProbePath
	}
	j.config.Scheme = scheme(spec.ProberSpec.Scheme)
	j.config.Params = map[string][]string{"module": {spec.Module}}
	j.timing(spec.Interval, spec.ScrapeTimeout)
	j.config.HTTPAuth = j.access().auth(spec.BasicAuth, bearer(&spec.HTTPConfigWithoutTLS), "")
	j.config.TLS = j.access().safeTLS(spec.TLSConfig)

	if spec.JobName != "" {
		j.add(&model.Relabel{TargetLabel: "job", Replacement: model.Present(spec.JobName)})
	}
	switch {
	case spec.Targets.StaticConfig != nil:
		j.staticTargets(m, spec.Targets.StaticConfig)
	case spec.Targets.Ingress != nil:
		j.ingressTargets(m, spec.Targets.Ingress)
	default:
		j.found.Add(diag.ProbeWithoutTargets.At("spec.targets",
			"a Probe needs targets.staticConfig or targets.ingress"))
	}
	j.checkProber(spec.ProberSpec.URL)
	j.enforceNamespace(m.Namespace)
	return &j.config, j.found.List
}

// checkProber reports a prober that cannot be an address: the agent drops every target then. The value is not
// shown, because it may hold a password.
func (j *job) checkProber(url string) {
	const path = "spec.prober.url"
	switch {
	case url == "":
		j.found.Add(diag.InvalidURL.At(path, "is missing: nothing is probed without a prober").As(diag.Warning))
	case strings.Contains(url, "/"):
		j.found.Add(diag.InvalidURL.At(path, "must be host:port, without a scheme or a path: nothing is probed").
			As(diag.Warning).WithHint("write a scheme other than http to spec.prober.scheme, and a path other than " +
			defaultProbePath +
			" to spec.prober.path"))
	}
}

func (j *job) staticTargets(m *monitoringv1.Probe, static *monitoringv1.ProbeTargetStaticConfig) {
	if len(static.Targets) == 0 {
		j.found.Add(diag.ProbeWithoutTargets.At("spec.targets.staticConfig",
			"lists no targets in static: nothing is probed").As(diag.Warning))
	}
	labels := maps.Clone(static.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for name := range labels {
		if !prommodel.LabelName(name).IsValidLegacy() {
			j.found.Add(diag.InvalidRelabeling.At("spec.targets.staticConfig.labels["+name+"]",
				"%q is not a label name", name))
		}
	}
	labels["namespace"] = m.Namespace
	j.config.Static = &model.Static{Targets: static.Targets, Labels: labels}
	j.add(
		&model.Relabel{SourceLabels: []string{"__address__"}, TargetLabel: "__param_target"},
		&model.Relabel{SourceLabels: []string{"__param_target"}, TargetLabel: "instance"},
		&model.Relabel{TargetLabel: "__address__", Replacement: model.Present(m.Spec.ProberSpec.URL)},
	)
	j.userRules("targets.staticConfig.relabelingConfigs", static.RelabelConfigs)
}

func (j *job) ingressTargets(m *monitoringv1.Probe, ingress *monitoringv1.ProbeTargetIngress) {
	j.kubernetes("ingress", m.Namespace, ingress.NamespaceSelector)
	j.selectLabels("ingress", "spec.targets.ingress.selector", &ingress.Selector)
	j.add(
		&model.Relabel{SourceLabels: []string{metaPrefix + "ingress_scheme", "__address__",
			metaPrefix + "ingress_path"},
			Separator: model.Present(";"), Regex: model.Present("(.+);(.+);(.+)"), TargetLabel: "__param_target",
			Replacement: model.Present("$1://$2$3"), Action: "replace"},
		&model.Relabel{SourceLabels: []string{metaPrefix + "namespace"}, TargetLabel: "namespace"},
		&model.Relabel{SourceLabels: []string{metaPrefix + "ingress_name"}, TargetLabel: "ingress"},
		&model.Relabel{SourceLabels: []string{"__param_target"}, TargetLabel: "instance"},
		&model.Relabel{TargetLabel: "__address__", Replacement: model.Present(m.Spec.ProberSpec.URL)},
	)
	j.userRules("targets.ingress.relabelingConfigs", ingress.RelabelConfigs)
}

func (j *job) filterRunning(wanted *bool) {
	if wanted != nil && *wanted {
		j.add(j.rules.filterRunning)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
