package generator

import (
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// unselected are the objects of a set that no GrafanaAgent selects, and the findings about them.
type unselected struct {
	objects []*manifest.Object
	diags   diag.List
	isKnown bool // for the set
}

// without returns the same if it does not depend on the objects, else nothing. The objects are leaves, which keep their
// labels; see [hierarchy.Rebuild].
func (u unselected) without(replaced map[manifest.ID]bool) unselected {
	if slices.ContainsFunc(u.objects, func(o *manifest.Object) bool { return replaced[o.ID] }) {
		return unselected{}
	}
	return u
}

// MaxUnselected limits the findings about objects that no GrafanaAgent selects. One more counts the others.
const MaxUnselected = 100

// unselected returns what no GrafanaAgent selects. Nothing is said about an object for which another finding is the
// reason: the instance that selects it is unselected itself, or something that might select it has an error. Nor about
// an object that is selected by a GrafanaAgent which other pipelines render.
//
// before is the result of an earlier render that still holds, if one is known. It does not if a unit holds objects:
// stand-ins may select something else, and change without the set.
func (r renderer) unselected(before unselected, all []*hierarchy.Hierarchy, units []*Unit) unselected {
	out := unselected{isKnown: true}
	all = slices.Clip(all)
	for _, u := range units {
		if len(u.Held) > 0 {
			all, out.isKnown = append(all, u.Hierarchy), false
		}
	}
	switch {
	case before.isKnown && out.isKnown:
		return before
	case len(all) == 0:
		return out
	}
	if out.objects = hierarchy.Unselected(r.set, all); len(out.objects) == 0 {
		return out
	}
	by := hierarchy.SelectedOtherwise(r.set, all, out.objects)
	below := map[*manifest.Object]int{}
	for _, parent := range by {
		below[parent]++
	}
	near, isHidden := explain.NewNearMisses(r.set, r.opts.AgentSelector), r.hidden()
	var rest []*manifest.Object
	for _, o := range out.objects {
		switch {
		case by[o] != nil || isHidden(o) || !near.IsSure(o.Kind) || r.opts.Ignore.Reason(o) != "":
		case len(out.diags) == MaxUnselected:
			rest = append(rest, o)
		default:
			out.diags = append(out.diags, unselectedFinding(o, near, below[o]))
		}
	}
	if len(rest) > 0 {
		d := rest[0].Place(diag.Unselected.At("", "no %s selects it", parentKind(rest[0].Kind)))
		if n := len(rest) - 1; n > 0 {
			d.Message += fmt.Sprintf(", and %d more objects are not selected; agentry tree lists them", n)
		}
		out.diags = append(out.diags, d)
	}
	return out
}

// parentKind returns the kind whose objects select objects of a kind.
func parentKind(kind string) string {
	switch kind {
	case v1alpha1.MetricsInstanceKind, v1alpha1.LogsInstanceKind, v1alpha1.IntegrationKind,
		v1alpha1.MetricsIntegrationKind:
		return v1alpha1.GrafanaAgentKind
	case v1alpha1.PodLogsKind:
		return v1alpha1.LogsInstanceKind
	}
	return v1alpha1.MetricsInstanceKind
}

// hidden returns a function that reports whether an error may hide what selects an object: a GrafanaAgent, an instance,
// or the labels of the object's namespace.
func (r renderer) hidden() func(*manifest.Object) bool {
	lacks := map[string]bool{}
	for _, kind := range []string{v1alpha1.GrafanaAgentKind, v1alpha1.MetricsInstanceKind, v1alpha1.LogsInstanceKind,
		manifest.NamespaceKind} {
		lacks[kind] = r.set.MayLack(kind)
	}
	for _, o := range r.set.LeftOut() {
		lacks[o.Kind] = lacks[o.Kind] || o.Kind != manifest.NamespaceKind
	}
	return func(o *manifest.Object) bool {
		namespace := manifest.ID{Kind: manifest.NamespaceKind, Name: o.Namespace}
		return lacks[v1alpha1.GrafanaAgentKind] || lacks[parentKind(o.Kind)] || r.set.IsLeftOut(namespace) ||
			lacks[manifest.NamespaceKind] && r.set.Get(namespace) == nil
	}
}

// unselectedFinding returns the finding about an object, with the nearest selector. below is how many objects it
// selects itself.
func unselectedFinding(o *manifest.Object, near *explain.NearMisses, below int) diag.Diagnostic {
	if ignore.LacksReason(o) {
		d := o.Place(diag.Unselected.At("metadata.annotations["+ignore.Annotation+"]",
			"is empty: say why no %s is meant to select it", parentKind(o.Kind)))
		d.Hint = "the reason is its value, such as \"for the Prometheus of another cluster\""
		return d
	}
	miss := near.Of(o)
	d := diag.Unselected.At(miss.Path, "no %s selects it", parentKind(o.Kind))
	switch {
	case below == 1:
		d.Message += ", nor the object that it selects"
	case below > 1:
		d.Message += fmt.Sprintf(", nor the %d objects that it selects", below)
	}
	if miss.Why == "" {
		d.Message += ": there is none"
	} else {
		d.Message += "; " + miss.Why
	}
	d.Hint = miss.Hint
	if d.Hint == "" {
		d.Hint = "if it is not meant for one here, say why with the annotation " + ignore.Annotation
	}
	return o.Place(d)
}
