package agentconfig

import (
	"maps"
	"slices"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/scrape"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// WALDirectory is where agents keep their write-ahead log.
const WALDirectory = "/var/lib/grafana-agent/data"

// Result is what a hierarchy was built to.
type Result struct {
	// Metrics is the configuration of the metrics pods; nil when there is no
	// MetricsInstance.
	Metrics *agentyaml.Config
	// Secrets knows what the pods must mount.
	Secrets *secretref.Resolver
	// Looked holds every Secret and ConfigMap that was looked for, also for objects that
	// were left out in the end; nil for those that are not in the set.
	Looked map[manifest.ID]*manifest.Object
	// Left holds the objects with errors, which were left out.
	Left map[manifest.ID]bool
	// Diags are all findings, those of the hierarchy's selectors included.
	Diags diag.List
}

// Failed reports whether the GrafanaAgent itself is to blame: there is nothing to render.
func (r *Result) Failed(h *hierarchy.Hierarchy) bool { return r.Left[h.Agent.ID] }

// Build builds the configuration of a hierarchy.
func Build(h *hierarchy.Hierarchy, set *manifest.Set, policy secretref.Policy) *Result {
	r := &Result{Left: map[manifest.ID]bool{}, Diags: slices.Clip(h.Diags), Looked: map[manifest.ID]*manifest.Object{}}
	for _, d := range h.Diags {
		r.blame(d)
	}
	for !r.Failed(h) {
		b := newBuilder(h, secretref.New(set, policy, h.Agent.Namespace), r.Left)
		r.Metrics = b.metrics()
		r.Secrets = b.secrets
		maps.Copy(r.Looked, b.secrets.Looked())
		if !r.take(append(b.diags, b.secrets.Diags()...)) {
			break
		}
	}
	return r
}

// take keeps the findings of one round. It returns true when they blame an object that
// was built: then the round is void, and its warnings come again in the next.
func (r *Result) take(round diag.List) bool {
	again := false
	for _, d := range round {
		if d.Severity == diag.Error {
			again = r.blame(d) || again
		}
	}
	for _, d := range round {
		if d.Severity == diag.Error || !again {
			r.Diags = append(r.Diags, d)
		}
	}
	return again
}

// blame leaves out the object of an error from now on; it reports whether that is news.
func (r *Result) blame(d diag.Diagnostic) bool {
	id := manifest.ID{Kind: d.Object.Kind, Namespace: d.Object.Namespace, Name: d.Object.Name}
	if d.Severity != diag.Error || r.Left[id] {
		return false
	}
	r.Left[id] = true
	return true
}

// builder builds one round.
type builder struct {
	hierarchy *hierarchy.Hierarchy
	spec      *v1alpha1.GrafanaAgentSpec
	secrets   *secretref.Resolver
	left      map[manifest.ID]bool
	diags     diag.List
	jobs      *scrape.Builder
	relabel   scrape.RelabelChecker
	// built are the jobs of monitors: the same for every instance that selects one.
	built map[*manifest.Object][]*agentyaml.ScrapeConfig
	// additionalJobs are the names of hand-written jobs, by instance.
	additionalJobs map[string][]string
}

// MaxShards is how many StatefulSets a GrafanaAgent may ask for.
const MaxShards = 1000

func newBuilder(h *hierarchy.Hierarchy, secrets *secretref.Resolver, left map[manifest.ID]bool) *builder {
	return &builder{hierarchy: h, spec: h.Spec(), secrets: secrets, left: left,
		built: map[*manifest.Object][]*agentyaml.ScrapeConfig{}, additionalJobs: map[string][]string{}}
}

func (b *builder) error(o *manifest.Object, code diag.Code, path, format string, args ...any) {
	b.diags = append(b.diags, o.Diag(diag.Error, code, path, format, args...))
}

func (b *builder) warn(o *manifest.Object, code diag.Code, path, format string, args ...any) {
	b.diags = append(b.diags, o.Diag(diag.Warning, code, path, format, args...))
}

// metrics builds the configuration of the metrics pods.
func (b *builder) metrics() *agentyaml.Config {
	agent, spec := b.hierarchy.Agent, &b.spec.Metrics
	in := b.secrets.In(agent)
	b.checkAgent()
	global := agentyaml.Global{
		ScrapeInterval: spec.ScrapeInterval,
		ScrapeTimeout:  spec.ScrapeTimeout,
		ExternalLabels: b.externalLabels(true),
		RemoteWrite:    b.remoteWrites(in, "spec.metrics.remoteWrite", spec.RemoteWrite),
	}
	b.jobs = scrape.NewBuilder(scrape.Settings{
		Shards:                   Shards(b.spec),
		OverrideHonorLabels:      spec.OverrideHonorLabels,
		OverrideHonorTimestamps:  spec.OverrideHonorTimestamps,
		IgnoreNamespaceSelectors: spec.IgnoreNamespaceSelectors,
		EnforcedNamespaceLabel:   spec.EnforcedNamespaceLabel,
		EnforcedSampleLimit:      spec.EnforcedSampleLimit,
		EnforcedTargetLimit:      spec.EnforcedTargetLimit,
		Interval:                 b.globalInterval(),
		APIServer:                b.apiServer(in),
	})
	metrics := &agentyaml.Metrics{WALDirectory: WALDirectory, Global: global}
	for _, m := range b.hierarchy.Metrics {
		if !b.left[m.Object.ID] {
			metrics.Configs = append(metrics.Configs, b.instance(m))
		}
	}
	if len(metrics.Configs) == 0 {
		return nil
	}
	b.checkDestinations(metrics)
	b.separateShared(metrics)
	return &agentyaml.Config{
		Server:  agentyaml.Server{LogLevel: b.spec.LogLevel, LogFormat: b.spec.LogFormat},
		Metrics: metrics,
	}
}

// Shards is the number of StatefulSets: nil, 0 and negative numbers mean 1.
func Shards(spec *v1alpha1.GrafanaAgentSpec) int {
	if n := spec.Metrics.Shards; n != nil && *n > 1 {
		return int(*n)
	}
	return 1
}

// externalLabels are the labels of all samples. The user's may replace the cluster
// label, not the replica label, which keeps replicas apart.
func (b *builder) externalLabels(replica bool) agentyaml.Live {
	agent, spec := b.hierarchy.Agent, &b.spec.Metrics
	out := agentyaml.Live{}
	if name := orDefault(spec.MetricsExternalLabelName, "cluster"); name != "" {
		out[name] = agent.Namespace + "/" + agent.Name
	}
	for name, value := range spec.ExternalLabels {
		out[name] = value
		b.checkVariables("spec.metrics.externalLabels["+name+"]", value)
	}
	if name := orDefault(spec.ReplicaExternalLabelName, "__replica__"); name != "" && replica {
		out[name] = "replica-$(STATEFULSET_ORDINAL_NUMBER)"
	}
	return out
}

func orDefault(s *string, def string) string {
	if s == nil {
		return def
	}
	return *s
}

// instance builds one MetricsInstance with the jobs of everything that it selects.
func (b *builder) instance(m *hierarchy.MetricsInstance) agentyaml.Instance {
	spec := &manifest.As[v1alpha1.MetricsInstance](m.Object).Spec
	in := b.secrets.In(m.Object)
	i := agentyaml.Instance{
		Name:                 m.Object.Namespace + "/" + m.Object.Name,
		WALTruncateFrequency: spec.WALTruncateFrequency,
		MinWALTime:           spec.MinWALTime,
		MaxWALTime:           spec.MaxWALTime,
		RemoteFlushDeadline:  spec.RemoteFlushDeadline,
		WriteStaleOnShutdown: spec.WriteStaleOnShutdown != nil && *spec.WriteStaleOnShutdown,
		RemoteWrite:          b.remoteWrites(in, "spec.remoteWrite", spec.RemoteWrite),
	}
	truncate := b.checkWAL(m.Object, spec)
	for _, list := range [...][]*manifest.Object{m.ServiceMonitors, m.PodMonitors, m.Probes} {
		for _, o := range list {
			i.ScrapeConfigs = append(i.ScrapeConfigs, b.monitor(o, truncate)...)
		}
	}
	if every := b.globalInterval(); every > truncate && slices.ContainsFunc(i.ScrapeConfigs, withoutInterval) {
		b.error(m.Object, diag.IntervalAboveWAL, "spec.walTruncateFrequency", "%s is shorter than the scrape interval %s of GrafanaAgent %s",
			model.Duration(truncate), model.Duration(every), b.hierarchy.Name())
	}
	i.Additional = b.additional(in, m.Object, spec, i.ScrapeConfigs, truncate)
	return i
}

func withoutInterval(job *agentyaml.ScrapeConfig) bool {
	d, err := model.ParseDuration(job.Interval)
	return err == nil && d == 0 || job.Interval == ""
}

// checkVariables checks live text of the GrafanaAgent.
func (b *builder) checkVariables(path, text string) {
	found, ok := variables(text)
	if !ok {
		b.error(b.hierarchy.Agent, diag.EnvReference, path, "an unfinished ${: the agent refuses the whole configuration")
	}
	for _, v := range found {
		if !b.podDefines(v) {
			d := b.hierarchy.Agent.Diag(diag.Warning, diag.EnvReference, path, "%s is not a variable that the pods define", v.text)
			d.Hint = v.hint()
			b.diags = append(b.diags, d)
		}
	}
}

// monitor returns the jobs of a ServiceMonitor, PodMonitor or Probe; none when it is
// left out.
func (b *builder) monitor(o *manifest.Object, truncate time.Duration) []*agentyaml.ScrapeConfig {
	if b.left[o.ID] || b.deniedFiles(o) {
		return nil
	}
	jobs, ok := b.built[o]
	if !ok {
		jobs = b.buildMonitor(o)
		b.built[o] = jobs
	}
	b.checkTruncation(o, jobs, truncate)
	return jobs
}

func (b *builder) buildMonitor(o *manifest.Object) []*agentyaml.ScrapeConfig {
	in := b.secrets.In(o)
	var out []*agentyaml.ScrapeConfig
	add := func(job *agentyaml.ScrapeConfig, findings []scrape.Finding) {
		for _, f := range findings {
			d := o.Diag(f.Severity, f.Code, f.Path, "%s", f.Message)
			d.Hint = f.Hint
			b.diags = append(b.diags, d)
		}
		out = append(out, job)
	}
	switch m := o.Value.(type) {
	case *monitoringv1.ServiceMonitor:
		for i := range m.Spec.Endpoints {
			add(b.jobs.ServiceMonitor(m, i, in))
		}
	case *monitoringv1.PodMonitor:
		for i := range m.Spec.PodMetricsEndpoints {
			add(b.jobs.PodMonitor(m, i, in))
		}
	case *monitoringv1.Probe:
		add(b.jobs.Probe(m, in))
	}
	return out
}

// deniedFiles reports whether a ServiceMonitor uses files of the agent although that is
// denied; then all of it is left out, as the operator does.
func (b *builder) deniedFiles(o *manifest.Object) bool {
	m, ok := o.Value.(*monitoringv1.ServiceMonitor)
	if !ok || !b.spec.Metrics.ArbitraryFSAccessThroughSMs.Deny {
		return false
	}
	for i := range m.Spec.Endpoints {
		path, denied := fileField(i, &m.Spec.Endpoints[i])
		if denied {
			b.warn(o, diag.FileAccessDenied, path, "the ServiceMonitor is left out: GrafanaAgent %s denies access to the agent's files", b.hierarchy.Name())
			return true
		}
	}
	return false
}
