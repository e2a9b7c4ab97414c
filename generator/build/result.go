package build

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Result is what a hierarchy was built to: one configuration for each kind of pod. Those
// that have nothing to do are nil.
type Result struct {
	// Metrics is for the metrics pods, which run MetricsInstances.
	Metrics *model.Config
	// Logs is for the logs pods, which run LogsInstances.
	Logs *model.Config
	// Deployment and DaemonSet are for the pods of integrations: those that run once, and
	// those that run on every node.
	Deployment, DaemonSet *Integrations
	// Secrets knows what the pods must mount, and which Secrets and ConfigMaps were looked for.
	Secrets *secretref.Resolver
	// Diags are all findings, those of the hierarchy's selectors included.
	Diags diag.List
}

// Integrations are the integrations that share a pod.
type Integrations struct {
	Config *model.Config
	// Objects are the Integrations and MetricsIntegrations, by namespace, name and kind.
	Objects []*manifest.Object
	// Expected is, by the agent's name of an integration, how many targets the SD API of one
	// pod should list. Integrations that it never lists are absent.
	Expected map[string]int
}
