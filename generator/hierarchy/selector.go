package hierarchy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// query evaluates the selectors of one parent object.
type query struct {
	*builder
	parent *manifest.Object
	diags  *diag.List
	waits  bool // a candidate is left out because of an error
	// selectors is the number of the parent's selectors that are set.
	selectors int
}

// selects returns the objects that a choice selects, ordered by namespace, name and kind. An invalid selector is an
// error and selects nothing.
func (q *query) selects(c Choice) []*manifest.Object {
	path, nsPath, nsSel, kinds := c.Path, c.NamespacePath, c.NamespaceSelector, c.Kinds
	if c.Selector == nil {
		q.warnHalf(c)
		return nil
	}
	q.selectors++
	selector := q.parse(path, c.Selector)
	namespaces, all := q.inNamespaces(nsPath, nsSel)
	if selector == nil || !all && namespaces == nil {
		return nil
	}
	var found []*manifest.Object
	candidates := 0
	for _, kind := range kinds {
		ix := q.index(kind)
		found = merge(found, ix.find(namespaces, all, selector))
		candidates += ix.count(namespaces, all)
	}
	if len(found) == 0 && q.mayBeLeftOut(namespaces, all, selector, kinds...) {
		q.waits = true
		return nil
	}
	// A selector that chooses no namespace has been reported already.
	if len(found) == 0 && !selector.Empty() && (all || len(namespaces) > 0) {
		why := "there is none in the namespaces it looks in"
		if candidates > 0 {
			why = fmt.Sprintf("of %d in the namespaces it looks in, none has labels %s", candidates, selector)
		}
		d := q.parent.Place(diag.SelectsNothing.At(path, "selects no %s: %s", strings.Join(kinds, " or "), why))
		if !all {
			d.Hint = q.elsewhere(selector, nsPath, nsSel, kinds)
		}
		if d.Hint == "" {
			d.Hint = q.meant(selector, namespaces, all, kinds)
		}
		*q.diags = append(*q.diags, d)
	}
	return found
}

// mayBeLeftOut reports whether a selector matches an object that is left out because of an error, or could match an
// object in a broken document. That error explains why the selector finds nothing else.
func (b *builder) mayBeLeftOut(namespaces []string, all bool, selector labels.Selector, kinds ...string) bool {
	if slices.ContainsFunc(kinds, b.set.MayLack) {
		return true
	}
	return slices.ContainsFunc(b.set.LeftOut(), func(o *manifest.Object) bool {
		return slices.Contains(kinds, o.Kind) && (all || slices.Contains(namespaces, o.Namespace)) &&
			selector.Matches(&o.Labels)
	})
}

// elsewhere returns a hint with the objects in other namespaces that a selector would choose, or "".
func (q *query) elsewhere(selector labels.Selector, nsPath string, nsSel *metav1.LabelSelector, kinds []string) string {
	var found []*manifest.Object
	for _, kind := range kinds {
		found = merge(found, q.index(kind).everywhere(selector))
	}
	if len(found) == 0 {
		return ""
	}
	advice := "widen " + nsPath
	if nsSel == nil {
		advice = "set " + nsPath + " ({} is all namespaces)"
	}
	example := found[0].Namespace + "/" + found[0].Name
	if len(found) == 1 && q.isInMisspeltNamespace(found[0]) {
		return fmt.Sprintf("%s has them: did you mean namespace %s? Otherwise %s",
			found[0].SeenFrom(q.parent, "metadata.namespace"), q.parent.Namespace, advice)
	}
	if len(found) == 1 {
		return fmt.Sprintf("1 in another namespace has them, %s: %s", example, advice)
	}
	return fmt.Sprintf("%d in other namespaces have them, such as %s: %s", len(found), example, advice)
}

// misspeltNamespaceHint returns a hint with the only object that empty selectors would choose, if its namespace is
// misspelt, or "".
func (q *query) misspeltNamespaceHint(choices []Choice) string {
	var found []*manifest.Object
	for _, c := range choices {
		if c.Selector == nil {
			continue
		}
		for _, kind := range c.Kinds {
			found = append(found, q.index(kind).everywhere(labels.Everything())...)
		}
	}
	found = slices.DeleteFunc(found, func(o *manifest.Object) bool { return !q.isInMisspeltNamespace(o) })
	if len(found) != 1 {
		return ""
	}
	return fmt.Sprintf("did you mean namespace %s for %s?", q.parent.Namespace,
		found[0].SeenFrom(q.parent, "metadata.namespace"))
}

// isInMisspeltNamespace reports whether an object was most likely meant for the parent's namespace: the name of its own
// namespace is similar, has no manifest, and has no other object.
func (q *query) isInMisspeltNamespace(o *manifest.Object) bool {
	const maxEdits = 2
	if d := diag.Distance(o.Namespace, q.parent.Namespace); d > maxEdits || 3*d > len(o.Namespace) ||
		differInShortWord(o.Namespace, q.parent.Namespace) {
		return false
	}
	return slices.Contains(q.unknownNamespaces(), o.Namespace) &&
		!slices.ContainsFunc(q.set.All(), func(other *manifest.Object) bool {
			return other != o && other.Namespace == o.Namespace
		})
}

// merge merges two sorted lists of objects; neither is changed.
func merge(a, b []*manifest.Object) []*manifest.Object {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(a, b *manifest.Object) int { return a.ID.Compare(b.ID) })
	return out
}

// parse compiles a label selector by Kubernetes' own rules. It returns nil if it is invalid.
func (q *query) parse(path string, sel *metav1.LabelSelector) labels.Selector {
	if selector, err := metav1.LabelSelectorAsSelector(sel); err == nil {
		return selector
	}
	for _, err := range validation.ValidateLabelSelector(sel, validation.LabelSelectorValidationOptions{},
		field.NewPath(path)) {
		d := q.parent.Place(diag.InvalidSelector.At(err.Field, "%s", err.Detail))
		if _, isOperator := err.BadValue.(metav1.LabelSelectorOperator); isOperator &&
			err.Type == field.ErrorTypeInvalid {
			d.Hint = "use one of In, NotIn, Exists, DoesNotExist"
		}
		*q.diags = append(*q.diags, d)
	}
	return nil
}

// inNamespaces returns the sorted names of the namespaces that a selector chooses, or all = true. It returns nil,
// false if the selector is invalid.
func (q *query) inNamespaces(path string, sel *metav1.LabelSelector) (names []string, all bool) {
	if sel == nil {
		return []string{q.parent.Namespace}, false
	}
	selector := q.parse(path, sel)
	if selector == nil {
		return nil, false
	}
	if selector.Empty() {
		return nil, true
	}
	q.warnUnknownNamespaces(path, selector)
	key := selector.String()
	names, ok := q.namespaces[key]
	if !ok {
		names = []string{}
		for _, ns := range q.allNamespaces() {
			if selector.Matches(NamespaceLabels(q.set, ns)) {
				names = append(names, ns)
			}
		}
		q.namespaces[key] = names
	}
	if len(names) == 0 && !q.mayBeLeftOut(nil, true, labels.Everything(), "Namespace") { // its labels may be the error
		*q.diags = append(*q.diags, q.parent.Place(diag.SelectsNothing.At(path,
			"selects no namespace: none has labels %s", selector)))
	}
	return names, false
}

// warnUnknownNamespaces warns about the parent's first selector that depends on labels of namespaces without a
// manifest in the inputs.
func (q *query) warnUnknownNamespaces(path string, selector labels.Selector) {
	requirements, _ := selector.Requirements()
	isSaid := func(d diag.Diagnostic) bool { return d.Code == diag.UnknownNamespace && d.Object == q.parent.Ref() }
	if slices.ContainsFunc(*q.diags, isSaid) || !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return r.Key() != corev1.LabelMetadataName
	}) {
		return
	}
	unknown := slices.DeleteFunc(slices.Clone(q.unknownNamespaces()), func(ns string) bool {
		return q.meantNamespace(ns) != ""
	})
	if len(unknown) == 0 || q.set.MayLack("Namespace") {
		return
	}
	more := ""
	if len(unknown) > 5 {
		unknown, more = unknown[:5], ", ..."
	}
	d := q.parent.Place(diag.UnknownNamespace.At(path,
		"namespaces without a manifest are assumed to have only the label %s: %s%s", corev1.LabelMetadataName,
		strings.Join(unknown, ", "), more))
	d.Hint = "add their Namespace manifests to the inputs, or their labels to spec.namespaces or to the folder of " +
		"spec.build.cluster"
	*q.diags = append(*q.diags, d)
}

// unknownNamespaces returns the namespaces without a manifest.
func (b *builder) unknownNamespaces() []string {
	if b.unknown == nil {
		b.unknown = []string{}
		for _, ns := range b.allNamespaces() {
			if id := (manifest.ID{Kind: "Namespace", Name: ns}); b.set.Get(id) == nil && !b.set.IsLeftOut(id) {
				b.unknown = append(b.unknown, ns)
			}
		}
	}
	return b.unknown
}

// allNamespaces returns the namespaces of the set.
func (b *builder) allNamespaces() []string {
	if b.known == nil {
		b.known = b.set.Namespaces()
	}
	return b.known
}
