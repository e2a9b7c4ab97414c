package integration

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Kind is the kind of object that asks for an integration.
type Kind int

const (
	// Integration is the kind of the operator's RFC 2. Its integrations can scrape themselves.
	Integration Kind = iota
	// MetricsIntegration is the kind of the operator's RFC 1. Its integrations never scrape themselves.
	MetricsIntegration
)

// Input is one integration as its object describes it.
type Input struct {
	// Name is spec.name as written.
	Name string
	// Config is the decoded spec.config: maps with string keys, []any, string, bool, nil, and numbers as
	// json.Number, int64, uint64, int or float64. Nil means an empty configuration.
	Config any
	// Kind is the object's kind.
	Kind Kind
	// AllNodes means that it runs on every node (RFC 2: spec.type.allNodes; RFC 1: daemonset).
	AllNodes bool
	// Unique means that the object allows only one integration of its name (RFC 2: spec.type.unique; RFC 1:
	// daemonset, singleton).
	Unique bool
	// Strict means that the pods run the agent that the catalogue describes, so that unknown fields are errors.
	// Otherwise they are warnings, because a newer agent may know them.
	Strict bool
	// ScrapeInterval and ScrapeTimeout are the GrafanaAgent's, for integrations that scrape themselves. Zero
	// means the agent's defaults, 1m and 10s.
	ScrapeInterval, ScrapeTimeout time.Duration
	// Agent is the GrafanaAgent. Findings about its settings are related to it.
	Agent diag.Object
	// Defines reports whether the agent's container has an environment variable. Nil means that it has none.
	Defines func(name string) bool
}

func (in *Input) defines(name string) bool { return in.Defines != nil && in.Defines(name) }

// Checked is an integration as the agent reads it. If there is an error among its findings, it must not be used.
type Checked struct {
	// Type is nil for an unknown integration.
	Type *Type
	// Name is the current name: the agent's configuration has the key <Name>_configs.
	Name string
	// Config is the configuration with sorted keys, without nulls, and with exact numbers.
	Config model.Map
	// Instance is the instance key if InstanceKnown: as written, or as the agent infers it from the
	// configuration. It is often unknown because it depends on the pod or on a variable.
	Instance      string
	InstanceKnown bool
	// MetricsInstances and LogsInstances are references that must resolve to an instance in the pod.
	MetricsInstances, LogsInstances []Reference
	// TracesInstances are references that never resolve, because agentry renders no traces.
	TracesInstances []Reference
	// Literals are the paths of credentials that the configuration holds as plain text.
	Literals []string
	// Targets is the number of groups that it adds to the response of the agent's SD API.
	Targets int
	// Findings are in the order of the configuration. Their paths are relative to the object: spec.name,
	// spec.type, spec.config.timeout.
	Findings diag.List

	kind   Kind
	unique bool
	same   string // see inferred
	listen string // the address that it listens on, besides the agent's own; empty if there is none
}

// Reference is a field that names an instance.
type Reference struct{ Path, Name string }

// configPath is the path of the configuration in an object.
const configPath = "spec.config"

// Check checks one integration and converts its configuration.
func (c *Catalogue) Check(in Input) Checked {
	k := &checker{in: in}
	out := Checked{Name: in.Name, kind: in.Kind, unique: in.Unique}
	t, canonical := c.Lookup(in.Name)
	switch {
	case t == nil:
		k.unknown(c)
	case !canonical:
		k.report(diag.Info, diag.OldIntegrationName, "spec.name", "write "+t.Name,
			"the agent calls %s %s: it is rendered under that name", in.Name, t.Name)
	}
	config, ok := in.Config.(map[string]any)
	if !ok && in.Config != nil {
		k.report(diag.Error, diag.InvalidIntegration, configPath, "", "is a %s, and must be a mapping",
			typeOf(in.Config))
	}
	if t == nil {
		out.Config = k.mapping(nil, config, configPath)
		out.Literals, out.Findings = k.literals, k.findings
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

// kind checks that an object of this kind can ask for the integration.
func (k *checker) kind() {
	if k.in.Kind == MetricsIntegration && !k.typ.Metrics {
		k.report(diag.Error, diag.IntegrationType, "spec.name", "make it an Integration",
			"%s has no metrics, so it cannot be a MetricsIntegration", k.typ.Name)
	}
}

// identity determines the instance key.
func (k *checker) identity(o object, out *Checked) {
	if k.in.Kind == MetricsIntegration {
		if o.has("instance") {
			k.report(diag.Error, diag.IntegrationInstance, o.at("instance"), "leave it out",
				"the instance of a MetricsIntegration is always its namespace/name")
		}
		return
	}
	key := o.instance(k.typ)
	out.Instance, out.InstanceKnown, out.same = key.text, key.known, key.same
}

// targets returns how many targets the agent's SD API lists.
func targets(o object) int {
	switch t := o.typ; {
	case !t.Listed:
		return 0
	case t.Targets != "":
		return len(o.items(t.Targets))
	}
	return 1
}

// references collects the logs and traces instances that integrations name in fields of their own. An empty
// name is not a reference, except for eventhandler, which needs one.
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

// listens returns the address that an integration listens on, if the agent can run several of its kind.
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
