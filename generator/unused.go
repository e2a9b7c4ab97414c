package generator

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// SpareUnused downgrades errors in unreferenced Secrets, ConfigMaps and Namespaces to warnings, and drops the other
// findings about them: repositories hold many that are not agentry's business. A Secret or ConfigMap is used if a
// hierarchy refers to it, which one without a namespace never is, or if it is passed through; a Namespace if an object
// of another kind is in it. What a tenant may not define stays an error: it is not about the object, but about who
// defines it.
func (out *Output) SpareUnused(list diag.List) diag.List {
	kept := make(diag.List, 0, len(list))
	for _, d := range list {
		id := manifest.ID{Kind: d.Object.Kind, Namespace: d.Object.Namespace, Name: d.Object.Name}
		isPassed := d.Severity == diag.Error && passes(out.renderer.set, id)
		if id.Name != "" && d.Code != diag.Tenancy && isReferredTo(id.Kind) && !isPassed && !out.uses(id) {
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

func (out *Output) uses(id manifest.ID) bool {
	if id.Kind != manifest.NamespaceKind {
		return slices.ContainsFunc(out.Units, func(u *Unit) bool {
			_, found := u.basis.dependencies[id]
			return found
		})
	}
	isIn := func(o *manifest.Object) bool { return o.Namespace == id.Name && !isReferredTo(o.Kind) }
	set := out.renderer.set
	return slices.ContainsFunc(set.All(), isIn) || slices.ContainsFunc(set.LeftOut(), isIn)
}
