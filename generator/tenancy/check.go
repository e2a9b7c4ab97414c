package tenancy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Check returns an error for each thing in a hierarchy that the rules forbid.
func (r Rules) Check(h *hierarchy.Hierarchy) diag.List {
	c := check{Rules: r, agent: h.Agent, known: map[diag.Identity]bool{}}
	c.node(h.Agent)
	c.asks(h.Agent)
	for _, m := range h.Metrics {
		c.selected(h.Agent, m.Object)
		for _, list := range [...][]*manifest.Object{m.ServiceMonitors, m.PodMonitors, m.Probes, m.ScrapeConfigs,
			m.IntegrationMonitors} {
			c.selected(m.Object, list...)
		}
	}
	for _, l := range h.Logs {
		c.selected(h.Agent, l.Object)
		c.selected(l.Object, l.PodLogs...)
		for _, p := range l.PodLogs {
			c.paths(p)
		}
		if h.Agent.Tenant != "" {
			c.refuseFiles(h.Agent, "spec.logs", "runs pods that read the logs of all namespaces on a node")
		}
	}
	c.selected(h.Agent, h.Integrations...)
	return c.found
}

// Files returns errors for the findings that an object of a tenant reads files.
func (r Rules) Files(h *hierarchy.Hierarchy, found diag.List) (out diag.List) {
	c := check{Rules: r, agent: h.Agent, known: map[diag.Identity]bool{}}
	tenants := map[diag.Object]*manifest.Object{}
	h.Objects(func(o *manifest.Object) bool {
		if o.Tenant != "" {
			tenants[o.Ref()] = o
		}
		return true
	})
	for _, d := range found {
		o := tenants[d.Object]
		if o == nil || d.Code != diag.ReadsAgentFile {
			continue
		}
		if rule, field := c.of(o.Namespace); !rule.Files {
			d.Severity, d.Code = diag.Error, diag.Tenancy
			d.Message += fmt.Sprintf("; a tenant's object may not read it (%s.files)", field)
			d.Hint = "use references to Secrets; or allow it by files: true in spec.tenancy.rules of the pipeline"
			out = append(out, d)
		}
	}
	return out
}

// check is one call of [Rules.Check].
type check struct {
	Rules
	agent *manifest.Object
	found diag.List
	known map[diag.Identity]bool // what is found
}

// fail adds an error.
func (c *check) fail(o *manifest.Object, path, hint, format string, args ...any) {
	d := o.Place(diag.Tenancy.At(path, format, args...))
	d.Hint = hint
	if !c.known[d.Identity()] {
		c.known[d.Identity()] = true
		c.found = append(c.found, d)
	}
}

// selected checks that the parent may select the objects, and checks what they ask for.
func (c *check) selected(parent *manifest.Object, objects ...*manifest.Object) {
	for _, o := range objects {
		rule, field := c.of(o.Namespace)
		if parent.Tenant == "" && c.agent.Tenant != "" && o.Namespace != c.agent.Namespace {
			parent = c.agent // it runs everything that its instances select, no matter who defined them
		}
		if parent.Tenant != "" && o.Namespace != parent.Namespace && !matches(rule.Agents, parent.Namespace) {
			c.fail(parent, selectorOf(parent, o.Kind),
				fmt.Sprintf("select only objects of namespace %s; or let them be selected by agents: [%s] in "+
					"spec.tenancy.rules of the pipeline, in a rule for %s", parent.Namespace, parent.Namespace,
					o.Namespace),
				"the tenant %s selects %s of another namespace (%s.agents)", parent.Tenant, o.SeenFrom(parent, ""),
				field)
			continue
		}
		if o.Tenant != "" && len(rule.Agents) > 0 && o.Namespace != c.agent.Namespace &&
			!matches(rule.Agents, c.agent.Namespace) {
			c.fail(o, "", "add the namespace to agents of the rule; or change the labels by which the object is "+
				"selected",
				"is selected by GrafanaAgent %s/%s, and %s.agents does not name its namespace", c.agent.Namespace,
				c.agent.Name, field)
			continue
		}
		c.asks(o)
	}
}

// selectorOf returns the field with which an object selects a kind.
func selectorOf(o *manifest.Object, kind string) string {
	for _, choice := range hierarchy.Choices(o) {
		if slices.Contains(choice.Kinds, kind) {
			return choice.NamespacePath
		}
	}
	return "spec"
}

// node checks that the pods of a tenant's GrafanaAgent cannot read files of nodes.
func (c *check) node(agent *manifest.Object) {
	if agent.Tenant == "" {
		return
	}
	c.volumes(agent, manifest.As[v1alpha1.GrafanaAgent](agent).Spec.Volumes)
}

// volumes checks the volumes that a tenant's object mounts into the pods of the GrafanaAgent: no files of nodes and,
// if the GrafanaAgent is in another namespace, nothing of that namespace.
func (c *check) volumes(o *manifest.Object, volumes []corev1.Volume) {
	for i, v := range volumes {
		switch path := fmt.Sprintf("spec.volumes[%d]", i); {
		case v.HostPath != nil:
			c.refuseFiles(o, path, "mounts files of nodes")
		case o.Namespace != c.agent.Namespace:
			c.refuseFiles(o, path, "mounts a volume of namespace "+c.agent.Namespace)
		}
	}
}

func (c *check) refuseFiles(o *manifest.Object, path, what string) {
	if rule, field := c.of(o.Namespace); !rule.Files {
		c.fail(o, path, "leave it to a GrafanaAgent of the platform; or allow it by files: true in "+
			"spec.tenancy.rules of the pipeline",
			"a tenant's %s %s (%s.files)", o.Kind, what, field)
	}
}

// asks checks what a tenant's object asks a GrafanaAgent to do, in particular one in another namespace.
func (c *check) asks(o *manifest.Object) {
	if o.Tenant == "" {
		return
	}
	switch v := o.Value().(type) {
	case *v1alpha1.Integration:
		c.volumes(o, v.Spec.Volumes)
	case *v1alpha1.MetricsIntegration:
		c.volumes(o, v.Spec.Volumes)
	}
	rule, field := c.of(o.Namespace)
	for _, s := range secrets(o) {
		if len(rule.Secrets) > 0 && !matches(rule.Secrets, s.text) {
			c.fail(o, s.path, "use another one; or add its name to secrets in spec.tenancy.rules of the pipeline",
				"the tenant %s may not refer to %s (%s.secrets)", o.Tenant, s.text, field)
		}
	}
	if o.Namespace == c.agent.Namespace {
		return
	}
	for _, u := range urls(o) {
		if !rule.allowsURL(u.text) {
			c.fail(o, u.path, "let the platform define the destination; or add the URL to urls in "+
				"spec.tenancy.rules of the pipeline",
				"the tenant %s may not choose where GrafanaAgent %s/%s sends to (%s.urls)", o.Tenant, c.agent.Namespace,
				c.agent.Name, field)
		}
	}
	if path := variable(o); path != "" && !rule.ScrapeConfigs {
		c.fail(o, path, "write the value; or allow it by scrapeConfigs: true in spec.tenancy.rules of the pipeline",
			"the tenant %s may not read environment variables of GrafanaAgent %s/%s (%s.scrapeConfigs)", o.Tenant,
			c.agent.Namespace, c.agent.Name, field)
	}
	if path := handWritten(o); path != "" && !rule.ScrapeConfigs {
		c.fail(o, path, "use a ServiceMonitor or PodMonitor; or allow it by scrapeConfigs: true in "+
			"spec.tenancy.rules of the pipeline",
			"the tenant %s may not give GrafanaAgent %s/%s hand-written configuration (%s.scrapeConfigs)", o.Tenant,
			c.agent.Namespace, c.agent.Name, field)
	}
}
