package agentconfig

import (
	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Result is what a hierarchy was built to: one configuration for each kind of pod. Those
// that have nothing to do are nil.
type Result struct {
	// Metrics is for the metrics pods, which run MetricsInstances.
	Metrics *agentyaml.Config
	// Logs is for the logs pods, which run LogsInstances.
	Logs *agentyaml.Config
	// Deployment and DaemonSet are for the pods of integrations: those that run once, and
	// those that run on every node.
	Deployment, DaemonSet *Integrations
	// Secrets knows what the pods must mount.
	Secrets *secretref.Resolver
	// Looked holds every Secret and ConfigMap that was looked for, also for objects that
	// were left out in the end; nil for those that are not in the set.
	Looked map[manifest.ID]*manifest.Object
	// Left holds the objects with errors, which were left out.
	Left map[manifest.ID]bool
	// Diags are all findings, those of the hierarchy's selectors included.
	Diags diag.List

	told map[string]bool // what is in Diags
}

// Integrations are the integrations that share a pod.
type Integrations struct {
	Config *agentyaml.Config
	// Objects are the Integrations and MetricsIntegrations, by namespace, name and kind.
	Objects []*manifest.Object
	// Expected is, by the agent's name of an integration, how many targets the SD API of one
	// pod should list. Integrations that it never lists are absent.
	Expected map[string]int
}

// Failed reports whether the GrafanaAgent itself is to blame: there is nothing to render.
func (r *Result) Failed(h *hierarchy.Hierarchy) bool { return r.Left[h.Agent.ID] }

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
			r.tell(d)
		}
	}
	return again
}

// tell keeps a finding once: what several configurations have in common is checked for
// each of them.
func (r *Result) tell(d diag.Diagnostic) {
	if key := d.String() + " " + d.Object.String(); !r.told[key] {
		r.told[key] = true
		r.Diags = append(r.Diags, d)
	}
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
