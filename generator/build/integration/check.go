package integration

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Kind is the custom resource that an integration comes from.
type Kind int

const (
	// Integration is the kind of RFC 2, whose integrations may scrape themselves.
	Integration Kind = iota
	// MetricsIntegration is the kind of RFC 1, whose integrations never do.
	MetricsIntegration
)

// Input is one integration as an object has it.
type Input struct {
	// Name is spec.name as it is written.
	Name string
	// Config is spec.config, decoded: maps with strings as keys, []any, string, bool, nil,
	// and numbers as json.Number, int64, uint64, int or float64. Nil is an empty one.
	Config any
	// Kind is the object's kind.
	Kind Kind
	// AllNodes: it runs on every node (RFC 2: spec.type.allNodes; RFC 1: daemonset).
	AllNodes bool
	// Unique: the object says that there may be only one of its name (RFC 2:
	// spec.type.unique; RFC 1: daemonset, singleton).
	Unique bool
	// Strict: the pods run the agent that the catalogue is of, so what it does not know
	// is an error. Else it is a warning, for a newer agent may know better.
	Strict bool
	// ScrapeInterval and ScrapeTimeout are the GrafanaAgent's, for integrations that scrape
	// themselves. Zero are the agent's own: 1m and 10s.
	ScrapeInterval, ScrapeTimeout time.Duration
	// Agent is the GrafanaAgent, for findings that come from its settings.
	Agent diag.Object
	// Defines reports whether the agent's container has an environment variable. Nil is
	// that it has none.
	Defines func(name string) bool
}

func (in *Input) defines(name string) bool { return in.Defines != nil && in.Defines(name) }

// Checked is an integration as the agent reads it. One with an error among its findings
// must not be used.
type Checked struct {
	// Type is nil for an unknown integration.
	Type *Type
	// Name is the current name: the key in the agent's configuration is <Name>_configs.
	Name string
	// Config is the configuration: keys sorted, nulls left out, numbers exact.
	Config model.Map
	// Instance is the instance key, if InstanceKnown: either written, or what the agent infers
	// from the configuration. Often it depends on the pod, or on a variable.
	Instance      string
	InstanceKnown bool
	// MetricsInstances and LogsInstances are references that the agent must be able to resolve.
	MetricsInstances, LogsInstances []Reference
	// TracesInstances are references that never resolve: the pods have no traces.
	TracesInstances []Reference
	// Literals are the paths of credentials that stand in the configuration in clear.
	Literals []string
	// Targets is how many groups it adds to the answer of the agent's SD API.
	Targets int
	// Findings are what is wrong with it, in the order of the configuration. Paths are
	// relative to the object: spec.name, spec.type, spec.config.timeout.
	Findings []diag.Finding

	kind   Kind
	unique bool
	same   string // see inferred
	listen string // the address on which it listens besides the agent's own, if there is one
}

// Reference is the name of an instance that a field refers to.
type Reference struct{ Path, Name string }

// configPath is where objects have the configuration.
const configPath = "spec.config"

// Check judges one integration and converts its configuration.
func (c *Catalogue) Check(in Input) Checked {
	k := &checker{in: in}
	out := Checked{Name: in.Name, kind: in.Kind, unique: in.Unique}
	t, canonical := c.Lookup(in.Name)
	switch {
	case t == nil:
		k.unknown(c)
	case !canonical:
		k.report(diag.Info, diag.OldIntegrationName, "spec.name", "write "+t.Name, "the agent calls %s %s: it is rendered under that name", in.Name, t.Name)
	}
	config, ok := in.Config.(map[string]any)
	if !ok && in.Config != nil {
		k.report(diag.Error, diag.InvalidIntegration, configPath, "", "is a %s, and must be a mapping", typeOf(in.Config))
	}
	if t == nil {
		out.Config = k.mapping(nil, config, configPath)
		out.Findings = k.findings
		return out
	}
	k.typ, out.Type, out.Name = t, t, t.Name
	out.Config = k.mapping(t.config, config, configPath)
	o := object{k, t.config, config, configPath}
	k.kind()
	k.identity(o, &out)
	k.placement(&out)
	k.labels(o)
	if t.Metrics {
		k.autoscrape(o, &out)
	}
	k.references(o, &out)
	out.Literals = k.literals
	out.Targets = targets(o)
	out.listen = listens(o)
	out.Findings = k.findings
	return out
}

func (k *checker) unknown(c *Catalogue) {
	name := k.in.Name
	hint := didYouMean(name, c.spellings())
	if t, _ := c.Lookup(strings.TrimSuffix(name, "_configs")); t != nil {
		hint = "write " + t.Name
	}
	if hint == "" {
		hint = "add it to the catalogue in the pipeline file (spec.integrations) if your agent knows it"
	}
	k.refuse(diag.UnknownIntegration, "spec.name", hint, "%q is not an integration of agent %s", name, AgentVersion)
}

// kind checks that the integration can be had as an object of its kind.
func (k *checker) kind() {
	if k.in.Kind == MetricsIntegration && !k.typ.Metrics {
		k.report(diag.Error, diag.IntegrationType, "spec.name", "make it an Integration", "%s has no metrics, so it cannot be a MetricsIntegration", k.typ.Name)
	}
}

// identity finds the instance key.
func (k *checker) identity(o object, out *Checked) {
	if k.in.Kind == MetricsIntegration {
		if o.has("instance") {
			k.report(diag.Error, diag.IntegrationInstance, o.at("instance"), "leave it out", "the instance of a MetricsIntegration is always its namespace/name")
		}
		return
	}
	key := o.instance(k.typ)
	out.Instance, out.InstanceKnown, out.same = key.text, key.known, key.same
}

// targets counts what the agent's SD API lists.
func targets(o object) int {
	switch t := o.typ; {
	case !t.Listed:
		return 0
	case t.Targets != "":
		return len(o.items(t.Targets))
	}
	return 1
}

// references are the instances of logs and traces that integrations name in fields of
// their own. An empty name is none, but for eventhandler, which needs one.
func (k *checker) references(o object, out *Checked) {
	add := func(field string, list *[]Reference) {
		if o.node.field(field) == nil {
			return
		}
		text, known := o.text(field)
		if !known || text == "" && k.typ.Name != "eventhandler" {
			return
		}
		path := o.path
		if o.has(field) {
			path = o.at(field)
		}
		*list = append(*list, Reference{path, text})
	}
	add("logs_instance", &out.LogsInstances)
	add("traces_instance", &out.TracesInstances)
}

// listens is the address on which an integration listens that may run several times.
func listens(o object) string {
	if o.typ.Name != "app_agent_receiver" {
		return ""
	}
	server := o.object("server")
	port, known := server.integer("port")
	if !known {
		return ""
	}
	return "port " + strconv.FormatInt(port, 10)
}
