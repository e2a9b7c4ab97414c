package generator

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// diagnostics returns all findings about a set and its units. more are findings about several units.
func (r renderer) diagnostics(units []*Unit, more diag.List) diag.List {
	list := slices.Concat(r.withoutUnused(r.set.Diags(), units), more, r.doubtfulReferences(units),
		r.missingRights(units), r.unmatched(units), r.withoutCluster(units), r.outOfReach(units))
	for _, u := range units {
		list = append(list, u.diags...)
	}
	if r.opts.RenderRights { // the ServiceAccount is rendered
		list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.MissingServiceAccount })
	}
	return merge(list)
}

// NoAgent returns a finding if nothing is rendered because the set has no GrafanaAgent, or none that is selected.
func (out *Output) NoAgent(severity diag.Severity, hint string) diag.List {
	set := out.renderer.set
	isAgent := func(o *manifest.Object) bool { return o.Kind == v1alpha1.GrafanaAgentKind }
	all := set.Kind(v1alpha1.GrafanaAgentKind)
	if len(out.Hierarchies) > 0 || len(all) == 0 && slices.ContainsFunc(set.LeftOut(), isAgent) {
		return nil
	}
	if severity == diag.Warning && len(all) == 0 && set.MayLack(v1alpha1.GrafanaAgentKind) {
		return nil // it may be in what cannot be read, which is reported
	}
	d := diag.Diagnostic{Severity: severity, Code: diag.NoAgent,
		Message: "there is no GrafanaAgent, so nothing is rendered", Hint: hint}
	if len(all) > 0 {
		d.Message = fmt.Sprintf("no GrafanaAgent of %d has labels %s, so nothing is rendered", len(all),
			out.renderer.opts.AgentSelector)
	}
	return diag.List{d}
}

// unmatched warns of patches and images that match nothing in any unit. A unit that stays as it is may have what they
// are for.
func (r renderer) unmatched(units []*Unit) diag.List {
	matched := map[int]bool{}
	for _, u := range units {
		if u.Stays() {
			return nil
		}
		maps.Copy(matched, u.matched)
	}
	return r.opts.Changes.Unmatched(matched)
}

// withoutCluster warns if pods were to share their targets by clustering, but none run a program that can.
func (r renderer) withoutCluster(units []*Unit) diag.List {
	c := r.opts.Runtimes
	i := slices.IndexFunc(c.Others, func(p runtimes.Runtime) bool { return p.Clusters })
	if i < 0 || c.IsFixed || c.Default.Clusters || len(units) == 0 ||
		slices.ContainsFunc(units, func(u *Unit) bool { return u.Runtime == c.Others[i].Name }) {
		return nil
	}
	name := c.Others[i].Name
	return diag.List{{Severity: diag.Warning, Code: diag.InvalidSetting,
		Message: "sharding: clustering has no effect, because no GrafanaAgent runs " + name,
		Hint: "set runtime: " + name + " (or --runtime " + name + "), or the annotation " + runtimes.Annotation +
			": " + name + " on a GrafanaAgent"}}
}

// merge sorts diagnostics, and joins those that several units share.
func merge(list diag.List) diag.List {
	type key struct {
		code          diag.Code
		path, message string
		source, file  string
		line, column  int
		object        diag.Object
	}
	at := map[key]int{}
	var out diag.List
	for _, d := range list {
		k := key{d.Code, d.Field(), d.Message, d.Source, d.File, d.Line, d.Column, d.Object}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			d.Units = slices.Clone(d.Units)
			out = append(out, d)
			continue
		}
		out[i].Units = union(out[i].Units, d.Units)
		out[i].Related = union(slices.Clip(out[i].Related), d.Related)
	}
	out.Sort()
	return out
}

// union adds to a list what it lacks of another.
func union[T comparable](list, more []T) []T {
	for _, item := range more {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

// WithoutUnused downgrades errors in unreferenced Secrets, ConfigMaps and Namespaces to warnings, and drops the other
// findings about them: repositories hold many that are not agentry's business. A Secret or ConfigMap is used if a
// hierarchy refers to it, which one without a namespace never is, or if it is passed through; a Namespace if an object
// of another kind is in it. What a tenant may not define stays an error: it is not about the object, but about who
// defines it.
func (out *Output) WithoutUnused(list diag.List) diag.List {
	return out.renderer.withoutUnused(list, out.Units)
}

func (r renderer) withoutUnused(list diag.List, units []*Unit) diag.List {
	kept := make(diag.List, 0, len(list))
	inhabited := sync.OnceValue(r.inhabited)
	isUsed := func(id manifest.ID) bool {
		if id.Kind == manifest.NamespaceKind {
			return inhabited()[id.Name]
		}
		return slices.ContainsFunc(units, func(u *Unit) bool {
			_, found := u.basis.dependencies[id]
			return found
		})
	}
	for _, d := range list {
		id := manifest.IDOf(d.Object)
		isPassed := d.Severity == diag.Error && passes(r.set, id)
		if id.Name != "" && d.Code != diag.Tenancy && isReferredTo(id.Kind) && !isPassed && !isUsed(id) {
			if d.Severity != diag.Error || d.Code == diag.MissingNamespace {
				continue
			}
			d.Severity = diag.Warning
		}
		kept = append(kept, d)
	}
	return kept
}

// isReferredTo reports whether objects of a kind matter only where something uses them.
func isReferredTo(kind string) bool {
	return kind == "Secret" || kind == "ConfigMap" || kind == manifest.NamespaceKind
}

// inhabited returns the names of the namespaces that an object is in, other than Secrets and ConfigMaps.
func (r renderer) inhabited() map[string]bool {
	names := map[string]bool{}
	for _, list := range [...][]*manifest.Object{r.set.All(), r.set.LeftOut()} {
		for _, o := range list {
			if !isReferredTo(o.Kind) {
				names[o.Namespace] = true
			}
		}
	}
	return names
}
