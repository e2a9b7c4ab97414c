package compile

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Result is the configurations of a hierarchy, one for each kind of pod. It is nil for pods that have nothing to do.
type Result struct {
	// Metrics is for the metrics pods, which run MetricsInstances.
	Metrics *model.Config
	// Logs is for the logs pods, which run LogsInstances.
	Logs *model.Config
	// Deployment and DaemonSet are for the pods of integrations that run once, and on every node.
	Deployment, DaemonSet *Integrations
	// Zones are the zones that the shards of metrics pods are spread over: shard i is in zone i modulo their number.
	Zones []string
	// Secrets knows what the pods must mount, and which Secrets and ConfigMaps were looked up.
	Secrets *secretref.Resolver
	// Diags are all diagnostics, including those of the hierarchy's selectors.
	Diags diag.List

	set    *manifest.Set
	seen   map[string]bool // the diagnostics in Diags
	unused *model.Config   // the configuration of metrics pods that have nothing to do
}

// Jobs returns the number of scrape jobs of each MetricsInstance and LogsInstance that runs.
func (r *Result) Jobs() map[manifest.ID]int {
	out := map[manifest.ID]int{}
	count := func(o model.Origin, jobs int) {
		out[manifest.IDOf(o.Object)] += jobs
	}
	if r.Metrics != nil {
		for _, i := range r.Metrics.Metrics.Configs {
			count(i.Origin, len(i.ScrapeConfigs)+len(i.Additional))
		}
	}
	if r.Logs != nil {
		for _, i := range r.Logs.Logs.Configs {
			count(i.Origin, len(i.ScrapeConfigs)+len(i.Additional))
		}
	}
	return out
}

// All returns the configurations of all pods. Some may be nil.
func (r *Result) All() []*model.Config {
	all := []*model.Config{r.Metrics, r.Logs}
	for _, in := range [...]*Integrations{r.Deployment, r.DaemonSet} {
		if in != nil {
			all = append(all, in.Config)
		}
	}
	return all
}

// Check checks the configurations with check, a runtime's, and replaces each with what check returns.
func (r *Result) Check(check func(*model.Config) (*model.Config, diag.List)) {
	one := func(c *model.Config) *model.Config {
		if c == nil {
			return nil
		}
		out, found := check(c)
		for _, d := range found {
			if o := r.set.Get(manifest.ID{Kind: d.Object.Kind, Namespace: d.Object.Namespace,
				Name: d.Object.Name}); o != nil {
				d = o.Place(d)
			}
			r.add(diag.List{d})
		}
		return out
	}
	one(r.unused)
	r.Metrics, r.Logs = one(r.Metrics), one(r.Logs)
	for _, in := range [...]*Integrations{r.Deployment, r.DaemonSet} {
		if in != nil {
			in.Config = one(in.Config)
		}
	}
}

// add adds diagnostics that are not there yet: parts that several configurations share are checked several times.
func (r *Result) add(list diag.List) {
	for _, d := range list {
		if key := d.String() + " " + d.Object.String(); !r.seen[key] {
			r.seen[key] = true
			r.Diags = append(r.Diags, d)
		}
	}
}

// Integrations is the configuration of the integrations that share a pod.
type Integrations struct {
	Config *model.Config
	// Objects are the Integrations and MetricsIntegrations, by namespace, name and kind.
	Objects []*manifest.Object
	// Expected is how many targets the SD API of one pod should list, by the agent's name of the integration.
	// Integrations that it never lists are absent.
	Expected map[string]int
}
