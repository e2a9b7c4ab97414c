package compile

import (
	"slices"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/fields"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// metricsSettings returns the GrafanaAgent's settings for the jobs of metrics pods.
func (b *builder) metricsSettings(apiServer model.KubernetesSD) scrape.Settings {
	spec := &b.spec.Metrics
	return scrape.Settings{
		Shards:                   Shards(b.spec),
		Clustered:                b.options.Clusters,
		OverrideHonorLabels:      spec.OverrideHonorLabels,
		OverrideHonorTimestamps:  spec.OverrideHonorTimestamps,
		IgnoreNamespaceSelectors: spec.IgnoreNamespaceSelectors,
		EnforcedNamespaceLabel:   spec.EnforcedNamespaceLabel,
		EnforcedSampleLimit:      spec.EnforcedSampleLimit,
		EnforcedTargetLimit:      spec.EnforcedTargetLimit,
		APIServer:                apiServer,
		Agent:                    b.hierarchy.Agent.Ref(),
		SD:                       b.discovery(),
	}
}

// discovery returns how the pods find the targets of IntegrationMonitors. It is empty if there are none.
func (b *builder) discovery() model.HTTPSD {
	if !slices.ContainsFunc(b.hierarchy.Metrics, func(m *hierarchy.MetricsInstance) bool {
		return len(m.IntegrationMonitors) > 0
	}) {
		return model.HTTPSD{}
	}
	agent := b.hierarchy.Agent
	sd, findings := b.options.SDAggregator.HTTPSD(b.secrets.In(agent))
	b.report.about(agent, findings...)
	return sd
}

// prometheus returns the fields that the GrafanaAgent shares with the Prometheus object.
func (b *builder) prometheus() prometheus {
	return prometheus{b.report, b.hierarchy.Agent, b.spec, b.current, b.options.Clusters}
}

// jobBuilders returns the builder of the jobs of metrics pods, and the one for monitors among them.
func (b *builder) jobBuilders(settings scrape.Settings) (*scrape.Builder, monitorJobs) {
	if !b.current {
		jobs := scrape.NewBuilder(settings)
		return jobs, jobs
	}
	agent := b.hierarchy.Agent
	jobs, findings := scrape.NewCurrent(settings, b.prometheus().settings(), b.secrets.In(agent))
	b.report.about(agent, findings...)
	return jobs.Builder, jobs
}

// metrics builds the configuration of the metrics pods.
func (b *builder) metrics() *model.Config {
	b.report.about(b.hierarchy.Agent, b.prometheus().version()...)
	metrics := b.metricsBlock(true)
	return b.config(metrics, nil)
}

// metricsBlock builds all MetricsInstances. For the metrics pods they have their monitors. The pods of
// integrations only write through the MetricsInstances, so there they have none.
func (b *builder) metricsBlock(monitors bool) *model.Metrics {
	spec := &b.spec.Metrics
	metrics := &model.Metrics{WALDirectory: DataDirectory, Global: model.Global{
		ScrapeInterval: spec.ScrapeInterval,
		ScrapeTimeout:  spec.ScrapeTimeout,
		ExternalLabels: b.externalLabels(),
		ReplicaLabel:   b.replicaLabel(monitors),
		RemoteWrite:    b.remoteWrites(b.secrets.In(b.hierarchy.Agent), "spec.metrics.remoteWrite", spec.RemoteWrite),
	}}
	if monitors && b.current {
		metrics.Global.ZoneLabel, metrics.Global.Limits = b.prometheus().zoneLabel(), b.prometheus().globalLimits()
	}
	for _, m := range b.hierarchy.Metrics {
		if !b.left[m.Object.ID] {
			metrics.Configs = append(metrics.Configs, b.instance(m, monitors))
		}
	}
	return metrics
}

// Shards returns spec.metrics.shards: at least 1.
func Shards(spec *v1alpha1.GrafanaAgentSpec) int {
	if n := spec.Metrics.Shards; n != nil && *n > 1 {
		return int(*n)
	}
	return 1
}

// externalLabels returns the labels of all samples, except the replica label. The user's labels may replace the
// cluster label.
func (b *builder) externalLabels() model.Expandable {
	agent, spec := b.hierarchy.Agent, &b.spec.Metrics
	out := model.Expandable{}
	if name := orDefault(spec.MetricsExternalLabelName, "cluster"); name != "" {
		out[name] = agent.Namespace + "/" + agent.Name
		b.report.labelName(agent, "spec.metrics.metricsExternalLabelName", name)
	}
	for name, value := range spec.ExternalLabels {
		out[name] = value
		b.report.labelName(agent, "spec.metrics.externalLabels["+name+"]", name)
		b.report.about(agent, b.env().check("spec.metrics.externalLabels["+name+"]", value)...)
	}
	return out
}

// replicaLabel returns the external label that distinguishes the replicas of metrics pods.
func (b *builder) replicaLabel(wanted bool) string {
	name := orDefault(b.spec.Metrics.ReplicaExternalLabelName, "__replica__")
	if name == "" || !wanted {
		return ""
	}
	b.report.labelName(b.hierarchy.Agent, "spec.metrics.replicaExternalLabelName", name)
	return name
}

func orDefault(s *string, def string) string {
	if s == nil {
		return def
	}
	return *s
}

// instance builds one MetricsInstance with its hand-written jobs and, with monitors, the jobs of all monitors
// that it selects.
func (b *builder) instance(m *hierarchy.MetricsInstance, monitors bool) model.Instance {
	spec := &manifest.As[v1alpha1.MetricsInstance](m.Object).Spec
	in := b.secrets.In(m.Object)
	i := model.Instance{
		Origin:               model.Origin{Object: m.Object.Ref(), Path: "spec"},
		Name:                 m.Object.Namespace + "/" + m.Object.Name,
		WALTruncateFrequency: spec.WALTruncateFrequency,
		MinWALTime:           spec.MinWALTime,
		MaxWALTime:           spec.MaxWALTime,
		RemoteFlushDeadline:  spec.RemoteFlushDeadline,
		WriteStaleOnShutdown: spec.WriteStaleOnShutdown != nil && *spec.WriteStaleOnShutdown,
		RemoteWrite:          b.remoteWrites(in, "spec.remoteWrite", spec.RemoteWrite),
	}
	b.report.add(readsOfOthers(b.hierarchy.Agent, m.Object)...)
	b.report.about(m.Object, fields.Check(b.options.Compatibility, m.Object)...)
	for _, f := range [...]struct{ field, value string }{
		{"walTruncateFrequency", i.WALTruncateFrequency}, {"remoteFlushDeadline", i.RemoteFlushDeadline},
		{"minWALTime", i.MinWALTime}, {"maxWALTime", i.MaxWALTime},
	} {
		b.report.goDuration(m.Object, "spec."+f.field, f.value)
	}
	if monitors {
		i.ScrapeConfigs = b.monitors(m)
	}
	i.Additional = b.additional(in, spec.AdditionalScrapeConfigs)
	return i
}

// monitors returns the jobs of all monitors that an instance selects.
func (b *builder) monitors(m *hierarchy.MetricsInstance) (out []*model.ScrapeConfig) {
	for _, list := range [...][]*manifest.Object{m.ServiceMonitors, m.PodMonitors, m.Probes, m.ScrapeConfigs} {
		for _, o := range list {
			out = append(out, b.monitor(o)...)
		}
	}
	for _, o := range m.IntegrationMonitors {
		if job := b.integrationMonitor(o, m.Object); job != nil {
			out = append(out, job)
		}
	}
	return out
}

// integrationMonitor returns the job of an IntegrationMonitor, or nil if it is left out. The job depends on the
// instance that scrapes it.
func (b *builder) integrationMonitor(o, instance *manifest.Object) *model.ScrapeConfig {
	if b.leftOut(o) {
		return nil
	}
	b.report.add(readsOfOthers(b.hierarchy.Agent, o)...)
	job, findings := b.jobs.IntegrationMonitor(manifest.As[v1alpha1.IntegrationMonitor](o),
		instance.Namespace+"/"+instance.Name, b.secrets.In(o))
	b.report.about(o, findings...)
	job.Origin = model.Origin{Object: o.Ref(), Path: "spec"}
	b.report.literalsOfJob(b.secrets.In(o), job)
	b.report.literalsOfRequests(b.secrets.In(o), job)
	return job
}

// leftOut reports whether a monitor is left out.
func (b *builder) leftOut(o *manifest.Object) bool {
	if b.left[o.ID] || !b.spec.Metrics.ArbitraryFSAccessThroughSMs.Deny {
		return b.left[o.ID]
	}
	f, is := denied(b.hierarchy.Agent, o)
	if is {
		b.report.about(o, f)
	}
	return is
}

// monitor returns the jobs of a ServiceMonitor, PodMonitor, Probe or ScrapeConfig; none if it is left out.
func (b *builder) monitor(o *manifest.Object) []*model.ScrapeConfig {
	if b.leftOut(o) {
		return nil
	}
	jobs, ok := b.built[o]
	if !ok {
		jobs = b.buildMonitor(o)
		b.built[o] = jobs
	}
	return jobs
}

func (b *builder) buildMonitor(o *manifest.Object) []*model.ScrapeConfig {
	b.report.add(readsOfOthers(b.hierarchy.Agent, o)...)
	b.report.about(o, fields.Check(b.options.Compatibility, o)...)
	in := b.secrets.In(o)
	var out []*model.ScrapeConfig
	add := func(job *model.ScrapeConfig, findings diag.List) {
		b.report.about(o, findings...)
		job.Origin.Object = o.Ref()
		if !b.current {
			b.report.literalsOfJob(in, job)
		}
		b.report.literalsOfTargets(in, job)
		b.report.literalsOfRequests(in, job)
		out = append(out, job)
	}
	switch m := o.Value().(type) {
	case *monitoringv1.ServiceMonitor:
		for i := range m.Spec.Endpoints {
			add(b.monitorJobs.ServiceMonitor(m, i, in))
		}
	case *monitoringv1.PodMonitor:
		for i := range m.Spec.PodMetricsEndpoints {
			add(b.monitorJobs.PodMonitor(m, i, in))
		}
	case *monitoringv1.Probe:
		add(b.monitorJobs.Probe(m, in))
	case *promv1alpha1.ScrapeConfig:
		if current, ok := b.monitorJobs.(*scrape.Current); ok { // mode operator reads none
			add(current.ScrapeConfig(m, in))
		}
	}
	return out
}
