package workload

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/model"
)

// output collects the objects of one GrafanaAgent and the findings about them.
type output struct {
	grafanaAgent
	hierarchy *hierarchy.Hierarchy
	checker   checker
	objects   []Object
	diags     diag.List
}

func newOutput(a grafanaAgent, h *hierarchy.Hierarchy) *output {
	return &output{grafanaAgent: a, hierarchy: h, checker: newChecker(a)}
}

// add adds a Secret, which needs no checks.
func (out *output) add(o Object, findings diag.List) {
	out.found(findings)
	out.put(o)
}

// put applies the pipeline's patches to o and appends it.
func (out *output) put(o Object) {
	if change := out.options.Change; change != nil {
		original := o.Value
		var diags diag.List
		o.Value, diags = change(original, func(changed Resource) diag.List {
			return out.recheck(original, changed)
		})
		out.diags = append(out.diags, diags...)
	}
	out.objects = append(out.objects, o)
}

// config adds the Secret of a configuration, or several Secrets if it does not fit into one. set is the name of the
// first StatefulSet that uses it, or "".
func (out *output) config(name, set string, c *model.Config) config {
	r := out.runtime()
	z := compression{above: r.CompressAboveBytes}
	defer z.end()
	printed := r.Print(c, z.soFar)
	o, inlined, findings := out.configSecret(name, c, &printed, &z)
	if o.Content == nil {
		return out.folder(name, set, c, &printed)
	}
	out.add(o, findings)
	return config{of: c, secret: name, inlined: inlined}
}

// addChecked adds an object and checks it.
func (out *output) addChecked(o Resource, findings diag.List) {
	out.found(findings)
	out.found(out.checker.check(o))
	out.put(Object{ID: IDOf(o), Value: o})
}

func (out *output) found(findings diag.List) {
	for _, f := range findings {
		out.diags = append(out.diags, out.Place(f))
	}
}
