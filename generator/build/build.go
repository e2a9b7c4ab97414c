package build

import (
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/generator/build/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// DataDirectory is where agents keep their write-ahead log and the positions in log files.
const DataDirectory = "/var/lib/grafana-agent/data"

// Options decide how hierarchies become configurations.
type Options struct {
	// Policy is for secret bytes.
	Policy secretref.Policy
	// SDAggregator is how IntegrationMonitors learn their targets.
	SDAggregator scrape.SDAggregator
	// Integrations is the catalogue; nil is the default one.
	Integrations *integration.Catalogue
	// Left are objects of the hierarchy to build without.
	Left map[manifest.ID]bool
}

// Build builds the configurations of a hierarchy. When it finds an error, they are not to
// be used.
func Build(h *hierarchy.Hierarchy, set *manifest.Set, options Options) *Result {
	b := newBuilder(h, set, options)
	r := &Result{Secrets: b.secrets, set: set, seen: map[string]bool{}}
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
	options   Options
	pods      secretref.Group // whose configuration is being built
	report    *reports
	relabel   scrape.RelabelChecker
	// jobs makes the jobs of metrics pods, logJobs those of logs pods.
	jobs, logJobs *scrape.Builder
	// built are the jobs of monitors: the same for every instance that selects one.
	built map[*manifest.Object][]*model.ScrapeConfig
	// builtLogs are the jobs of PodLogs.
	builtLogs map[*manifest.Object]*model.LogsScrapeConfig
}

// MaxShards is how many StatefulSets a GrafanaAgent may ask for.
const MaxShards = 1000

func newBuilder(h *hierarchy.Hierarchy, set *manifest.Set, options Options) *builder {
	return &builder{hierarchy: h, spec: h.Spec(), set: set, secrets: secretref.New(set, options.Policy, h.Agent.Namespace), left: options.Left, options: options, report: &reports{},
		built: map[*manifest.Object][]*model.ScrapeConfig{}, builtLogs: map[*manifest.Object]*model.LogsScrapeConfig{}}
}

// build builds all configurations.
func (b *builder) build(r *Result) {
	b.secrets.LeaveOut(b.left)
	checkAgent(b.report, b.hierarchy.Agent)
	b.use(discovering(b.hierarchy))
	apiServer := b.apiServer(b.secrets.In(b.hierarchy.Agent))
	b.use(secretref.Metrics)
	b.jobs = scrape.NewBuilder(b.metricsSettings(apiServer))
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
}

// use says whose configuration is built from now on.
func (b *builder) use(pods secretref.Group) {
	b.pods = pods
	b.secrets.Use(pods)
}

// discovering are the pods that find their targets in the Kubernetes API.
func discovering(h *hierarchy.Hierarchy) (pods secretref.Group) {
	if len(h.Metrics) > 0 {
		pods |= secretref.Metrics
	}
	if len(h.Logs) > 0 {
		pods |= secretref.Logs
	}
	return pods
}

// config is a configuration, with what all pods have in common.
func (b *builder) config(metrics *model.Metrics, logs *model.Logs) *model.Config {
	return &model.Config{
		Origin: model.Origin{Object: b.hierarchy.Agent.Ref()}, KnownVersion: knownAgent(b.spec),
		Server: model.Server{LogLevel: b.spec.LogLevel, LogFormat: b.spec.LogFormat}, Metrics: metrics, Logs: logs,
	}
}

// env is the environment of the pods whose configuration is built.
func (b *builder) env() environment { return environment{agent: b.hierarchy.Agent, pods: b.pods} }
