package hierarchy

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/agentry-dev/agentry/generator/diag"
)

// warnHalf warns about a selector of namespaces without the selector of objects, which selects nothing.
func (q *query) warnHalf(c Choice) {
	if c.NamespaceSelector == nil {
		return
	}
	d := q.parent.Place(diag.SelectsNothing.At(c.NamespacePath, "selects no %s: %s is not set",
		strings.Join(c.Kinds, " or "), c.Path))
	d.Hint = "write " + c.Path[strings.LastIndexByte(c.Path, '.')+1:] + ": {} to select all in these namespaces"
	*q.diags = append(*q.diags, d)
}

// maxCompared limits the objects whose labels are compared with a selector that selects none of them.
const maxCompared = 1000

// meant returns a hint for a selector that finds nothing: a similarly spelt label of objects that match the rest of
// the selector, or "".
func (q *query) meant(selector labels.Selector, namespaces []string, all bool, kinds []string) string {
	requirements, _ := selector.Requirements()
	for i, wrong := range requirements {
		want, single := wrong.Values().PopAny()
		if !single || wrong.Values().Len() != 1 || wrong.Operator() == selection.NotIn ||
			wrong.Operator() == selection.NotEquals {
			continue
		}
		others := labels.NewSelector().Add(slices.Delete(slices.Clone(requirements), i, i+1)...)
		keys, values := map[string]bool{}, map[string]bool{}
		for _, kind := range kinds {
			found := q.index(kind).find(namespaces, all, others)
			for _, o := range found[:min(len(found), maxCompared)] {
				for _, l := range o.Labels {
					keys[l.Name] = true
				}
				if value, has := o.Labels.Lookup(wrong.Key()); has {
					values[value] = true
				}
			}
		}
		if value, near := diag.Suggest(want, slices.Sorted(maps.Keys(values))); near {
			return "did you mean " + wrong.Key() + "=" + value + "?"
		}
		if key, near := diag.Suggest(wrong.Key(), slices.Sorted(maps.Keys(keys))); near && len(values) == 0 {
			return "they have the label " + key
		}
	}
	return ""
}
