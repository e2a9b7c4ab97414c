package integration

import (
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Conflict is a problem that two integrations of one pod have together, of which the field is the same in both. A and B
// are their indexes in the list; A is the smaller one.
type Conflict struct {
	A, B int
	diag.Diagnostic
}

// Conflicts returns the integrations that one agent cannot run together. All of them run in the same pod, in
// the order of the list.
func Conflicts(pod []Checked) []Conflict {
	var out []Conflict
	earlier := firsts{}
	for b := range pod {
		for _, a := range earlier.suspects(&pod[b]) {
			if d, found := conflict(&pod[a], &pod[b]); found {
				out = append(out, Conflict{a, b, d})
				break // one conflict of an integration is enough
			}
		}
		earlier.add(&pod[b], b)
	}
	return out
}

// firsts holds, for each trait, the index of the first integration that has it.
type firsts map[trait]int

// trait is something that can conflict with a later integration of the same name. The value is empty where the
// kind says everything.
type trait struct{ name, kind, value string }

// traits returns the traits of an integration.
func (c *Checked) traits() []trait {
	out := []trait{{c.Name, "any", ""}}
	if c.unique {
		out = append(out, trait{c.Name, "unique", ""})
	}
	if c.same != "" {
		out = append(out, trait{c.Name, "same", c.same})
	}
	if c.listen != "" {
		out = append(out, trait{c.Name, "listen", c.listen})
	}
	if c.InstanceKnown {
		out = append(out, trait{c.Name, "route", route(c.Instance)})
	}
	if unroutable(c) {
		out = append(out, trait{c.Name, "unroutable", ""})
	}
	return out
}

func (f firsts) add(c *Checked, at int) {
	for _, t := range c.traits() {
		if _, taken := f[t]; !taken {
			f[t] = at
		}
	}
}

// suspects returns the indexes of the integrations that can conflict with c, in order.
func (f firsts) suspects(c *Checked) []int {
	var out []int
	look := func(t trait) {
		if at, ok := f[t]; ok {
			out = append(out, at)
		}
	}
	for _, t := range c.traits() {
		if t.kind != "any" || c.Type != nil && c.Type.Singleton || unroutable(c) {
			look(t)
		}
	}
	look(trait{c.Name, "unroutable", ""})
	if c.InstanceKnown {
		for p := route(c.Instance); p != "/"; {
			p = path.Dir(p)
			look(trait{c.Name, "route", p})
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// conflict returns the most severe conflict of two integrations of one name, if there is one.
func conflict(a, b *Checked) (d diag.Diagnostic, found bool) {
	instance := configPath
	if a.kind == MetricsIntegration || b.kind == MetricsIntegration {
		instance = "spec.name"
	}
	switch {
	case a.Type != nil && a.Type.Singleton:
		return diag.UniqueIntegration.At("spec.name", "%s", "an agent can run "+a.Name+" only once").
			WithHint("remove one of them"), true
	case a.unique && b.unique:
		return diag.UniqueIntegration.At("spec.type", "%s", "both ask to be the only "+a.Name+" of the GrafanaAgent").
			WithHint("remove one of them, or do not ask for a unique one"), true
	case a.same != "" && a.same == b.same:
		return diag.IntegrationInstance.At(instance, "%s",
			"the agent would not start: two integrations "+a.Name+" get the same instance"+of(a)).
			WithHint("set instance in one of them"), true
	case a.InstanceKnown && b.InstanceKnown && route(a.Instance) == route(b.Instance):
		return diag.IntegrationInstance.At(instance, "%s",
			"two integrations "+a.Name+" get instances that differ only in slashes and dots, and so the same path").
			WithHint("set instance in one of them"), true
	case a.listen != "" && a.listen == b.listen:
		return diag.InvalidIntegration.At(configPath, "%s",
			"two integrations "+a.Name+" listen on "+a.listen+": one of them would not run").As(diag.Warning).
			WithHint("set server.port in one of them"), true
	case a.InstanceKnown && b.InstanceKnown && strings.HasPrefix(route(b.Instance)+"/", route(a.Instance)+"/"):
		return diag.IntegrationInstance.At(instance, "%s",
			"the instance "+b.Instance+" begins with the other's, "+a.Instance+
				", as a path: the agent answers for the longer one with the shorter").As(diag.Warning).
			WithHint("set another instance"), true
	case unroutable(a) || unroutable(b):
		return diag.IntegrationInstance.At(instance, "%s",
			"an instance that is empty, or has braces or .. in it, has no path of its own beside another "+a.Name).
			As(diag.Warning).WithHint("set another instance"), true
	}
	return d, false
}

func of(c *Checked) string {
	if c.InstanceKnown {
		return " " + c.Instance
	}
	return ""
}

// route returns the URL path that the agent serves an instance key at.
func route(instance string) string { return path.Join("/", instance) }

// unroutable reports whether an instance key is lost or changes when it becomes a URL path.
func unroutable(c *Checked) bool {
	if !c.InstanceKnown {
		return false
	}
	if route(c.Instance) == "/" {
		return true
	}
	for part := range strings.SplitSeq(c.Instance, "/") {
		if part == ".." {
			return true
		}
	}
	return strings.ContainsAny(c.Instance, "{}")
}
