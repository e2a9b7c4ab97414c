package compile

import (
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/fields"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// DataDirectory is where agents keep the write-ahead log and their positions in log files.
const DataDirectory = "/var/lib/grafana-agent/data"

// Options are the settings of [Build].
type Options struct {
	// Compatibility is which program's jobs are rendered.
	Compatibility manifest.Compatibility
	// Secrets are the secrets policies.
	Secrets secretref.Policies
	// SDAggregator is where IntegrationMonitors find their targets.
	SDAggregator scrape.SDAggregator
	// Integrations is the catalogue. Nil means the default catalogue.
	Integrations *integration.Catalogue
	// SubstitutesSecrets is the same field of the runtime.
	SubstitutesSecrets bool
	// Clusters is the same field of the runtime.
	Clusters bool
	// Left are the objects of the hierarchy that are left out.
	Left map[manifest.ID]bool
}

// Hierarchy compiles a hierarchy to its configurations. If there is an error among the diagnostics, the
// configurations must not be used.
func Hierarchy(h *hierarchy.Hierarchy, set *manifest.Set, options Options) *Result {
	b := newBuilder(h, set, options)
	r := &Result{Secrets: b.secrets, Zones: b.prometheus().zones(), set: set, seen: map[string]bool{}}
	b.build(r)
	for _, list := range [...]diag.List{h.Diags, b.report.diags, b.secrets.Diags()} {
		r.add(list)
	}
	return r
}

// builder builds the configurations of one hierarchy.
type builder struct {
	hierarchy *hierarchy.Hierarchy
	spec      *v1alpha1.GrafanaAgentSpec
	set       *manifest.Set
	secrets   *secretref.Resolver
	left      map[manifest.ID]bool
	current   bool // today's Prometheus Operator is followed
	options   Options
	pods      secretref.Group // the pods whose configuration is being built
	report    *reports
	relabel   scrape.RelabelChecker
	// jobs builds the jobs of metrics pods, logJobs the jobs of logs pods.
	jobs, logJobs *scrape.Builder
	// monitorJobs builds the jobs of monitors, like the operator that is followed.
	monitorJobs monitorJobs
	// built caches the jobs of monitors: they are the same for every instance that selects one.
	built map[*manifest.Object][]*model.ScrapeConfig
	// builtLogs caches the jobs of PodLogs.
	builtLogs map[*manifest.Object]*model.LogsScrapeConfig
}

// MaxShards limits the StatefulSets of a GrafanaAgent (spec.metrics.shards).
const MaxShards = 1000

func newBuilder(h *hierarchy.Hierarchy, set *manifest.Set, options Options) *builder {
	return &builder{hierarchy: h, spec: h.Spec(), set: set, secrets: secretref.New(set, options.Secrets, h.Agent.ID),
		left: options.Left, current: options.Compatibility == manifest.Current, options: options, report: &reports{},
		built: map[*manifest.Object][]*model.ScrapeConfig{}, builtLogs: map[*manifest.Object]*model.LogsScrapeConfig{}}
}

// build builds all configurations.
func (b *builder) build(r *Result) {
	if !b.refuseTooMuch() {
		return
	}
	b.secrets.LeaveOut(b.left)
	b.secrets.Substitute(b.options.SubstitutesSecrets)
	checkAgent(b.report, b.hierarchy.Agent)
	in := b.secrets.In(b.hierarchy.Agent)
	b.report.literalsOfContainers(in, "spec.containers", b.spec.Containers)
	b.report.literalsOfContainers(in, "spec.initContainers", b.spec.InitContainers)
	b.prometheus().checkZones()
	b.report.about(b.hierarchy.Agent, fields.Check(b.options.Compatibility, b.hierarchy.Agent)...)
	b.use(discovering(b.hierarchy))
	apiServer := b.apiServer(in)
	b.use(secretref.Metrics)
	b.jobs, b.monitorJobs = b.jobBuilders(b.metricsSettings(apiServer))
	if r.Metrics = b.metrics(); len(r.Metrics.Metrics.Configs) == 0 {
		r.Metrics, r.unused = nil, r.Metrics
	}
	b.use(secretref.Logs)
	b.logJobs = scrape.NewBuilder(b.logsSettings(apiServer))
	r.Logs = b.logs()
	b.use(secretref.Deployment)
	r.Deployment = b.integrations(false)
	b.use(secretref.DaemonSet)
	r.DaemonSet = b.integrations(true)
	collected(r, b.hierarchy.Agent, apiServer)
	for o := range b.hierarchy.Objects {
		if len(o.SecretVariables()) > 0 && !b.left[o.ID] { // most have none, and what is left out must claim nothing
			b.report.literalVariables(b.secrets.In(o))
		}
	}
}

// use sets the pods whose configuration is built next.
func (b *builder) use(pods secretref.Group) {
	b.pods = pods
	b.secrets.Use(pods)
}

// discovering returns the pods that find their targets through the Kubernetes API.
func discovering(h *hierarchy.Hierarchy) (pods secretref.Group) {
	if len(h.Metrics) > 0 {
		pods |= secretref.Metrics
	}
	if len(h.Logs) > 0 {
		pods |= secretref.Logs
	}
	return pods
}

// config returns a configuration with the settings that all pods share.
func (b *builder) config(metrics *model.Metrics, logs *model.Logs) *model.Config {
	return &model.Config{
		Origin: model.Origin{Object: b.hierarchy.Agent.Ref()}, KnownVersion: knownAgent(b.spec), Pod: podOf(b.spec),
		Server: model.Server{LogLevel: b.spec.LogLevel, LogFormat: b.spec.LogFormat}, Metrics: metrics, Logs: logs,
	}
}

// env returns the environment of the pods whose configuration is being built.
func (b *builder) env() environment { return environment{agent: b.hierarchy.Agent, pods: b.pods} }
