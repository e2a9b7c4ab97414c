package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// shortNames returns the short names of kinds that kubectl takes, from the CRDs and from Kubernetes.
func shortNames() map[string]string {
	return map[string]string{
		"smon": "ServiceMonitor", "pmon": "PodMonitor", "prb": "Probe", "scfg": "ScrapeConfig", "cm": "ConfigMap",
		"ns": "Namespace",
	}
}

// Kind returns the kind that a word means. The word may have any form that manifests or kubectl have: any letter case,
// singular or plural, short, or with its group. Kind returns false if agentry reads no such kind.
func Kind(word string) (string, bool) {
	name, _, _ := strings.Cut(strings.ToLower(word), ".")
	if kind, ok := shortNames()[name]; ok {
		return kind, true
	}
	for _, kind := range manifest.Kinds() {
		if low := strings.ToLower(kind); name == low || name == low+"s" {
			return kind, true
		}
	}
	return "", false
}

// DidYouMeanKind returns a hint with the kind that a word may mean, or nothing.
func DidYouMeanKind(word string) string {
	return diag.DidYouMean(word, append(manifest.Kinds(), "smon", "pmon", "scfg"))
}

// Find returns the objects that a reference names, sorted: KIND/namespace/name, KIND/name in any namespace, or KIND for
// all. It returns false if the reference has another form or its kind is unknown.
func (x *Explainer) Find(reference string) (found []manifest.ID, ok bool) {
	word, name, isNamed := strings.Cut(reference, "/")
	kind, known := Kind(word)
	if !known {
		return nil, false
	}
	for _, id := range x.ids(kind) {
		if !isNamed || name == id.Name || name == id.Namespace+"/"+id.Name {
			found = append(found, id)
		}
	}
	parts := strings.Split(reference, "/")
	hasForm := len(parts) <= 3 && !slices.Contains(parts, "")
	return found, hasForm || len(found) > 0 // An invalid name can have any form.
}

// ids returns the objects of a kind, sorted. Among them are objects of which only the name is known.
func (x *Explainer) ids(kind string) (out []manifest.ID) {
	for _, o := range x.objects[kind] {
		out = append(out, o.ID)
	}
	out = append(out, x.onlyNamed(kind)...)
	slices.SortFunc(out, manifest.ID.Compare)
	return out
}

// onlyNamed returns the objects of a kind of which only the name is known, from the inputs or from a field that refers
// to them, sorted.
func (x *inputs) onlyNamed(kind string) []manifest.ID {
	names := map[manifest.ID]bool{}
	add := func(id manifest.ID) {
		if id.Kind == kind && x.byID[id] == nil {
			names[id] = true
		}
	}
	for id := range x.render.Set.Named() {
		add(id)
	}
	for of, found := range x.found {
		if of.Kind == kind && of.Name != "" && isRefused(found) {
			add(manifest.ID{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name})
		}
	}
	if isReferred(kind) {
		for id := range x.mentioned() {
			add(id)
		}
	}
	return slices.SortedFunc(maps.Keys(names), manifest.ID.Compare)
}

// hasLabels reports whether a selector matches the labels of an object.
func (x *Explainer) hasLabels(id manifest.ID, s labels.Selector) bool {
	o := x.byID[id]
	return o != nil && s.Matches(&o.Labels)
}

// UnknownError is a reference that names no object.
type UnknownError struct {
	Message, Hint string
}

// Error implements error.
func (e *UnknownError) Error() string { return e.Message }

// Resolve returns the objects that references name, in the forms of [Explainer.Find], each object once. Without a
// reference it returns all objects that can be selected. If s is not nil, it must match the labels of an object. The
// error is an [UnknownError].
func (x *Explainer) Resolve(references []string, s labels.Selector) (out []manifest.ID, err error) {
	all := []manifest.ID{}
	for _, reference := range references {
		found, ok := x.Find(reference)
		if !ok {
			word, hint := strings.Split(reference, "/")[0], "write it like servicemonitor/team-shop/checkout"
			if _, known := Kind(word); !known {
				hint = cmp.Or(DidYouMeanKind(word), hint)
			}
			return nil, &UnknownError{fmt.Sprintf("%q is not KIND/namespace/name", reference), hint}
		}
		if len(found) == 0 {
			return nil, x.unknown(reference)
		}
		all = append(all, found...)
	}
	if len(references) == 0 {
		for _, kind := range manifest.Kinds() {
			if !isReferred(kind) {
				all = append(all, x.ids(kind)...)
			}
		}
		slices.SortFunc(all, manifest.ID.Compare)
	}
	seen := map[manifest.ID]bool{}
	for _, id := range all {
		if !seen[id] && (s == nil || x.hasLabels(id, s)) {
			seen[id] = true
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		return nil, &UnknownError{"no object has labels " + selectorText(s), "agentry tree prints all objects"}
	}
	return out, nil
}

// unknown returns the error for a reference to nothing, with the nearest names as its hint.
func (x *Explainer) unknown(reference string) error {
	err := &UnknownError{Message: "there is no " + reference, Hint: "agentry tree prints all objects"}
	if near := x.Near(reference); len(near) > 0 {
		err.Hint = "did you mean " + strings.Join(near, ", ") + "?"
	} else if kind, _ := Kind(strings.Split(reference, "/")[0]); len(x.ids(kind)) == 0 {
		err.Hint = "the inputs have no " + kind
	}
	return err
}

// maxNearNames is how many names are suggested.
const maxNearNames = 3

// Near returns the names nearest to a reference that names nothing, all of its kind: first the same name in other
// namespaces, then names that are spelled alike.
func (x *Explainer) Near(reference string) (names []string) {
	parts := strings.Split(reference, "/")
	kind, _ := Kind(parts[0])
	want := strings.ToLower(parts[len(parts)-1])
	near := nearest[manifest.ID]{limit: maxNearNames}
	for _, id := range x.ids(kind) {
		d := 0
		if name := strings.ToLower(id.Name); name != want {
			if d = diag.Distance(name, want); d > max(1, len(want)/3) && !strings.Contains(name, want) {
				continue
			}
		}
		if len(parts) == 3 && id.Namespace != parts[1] {
			d += min(diag.Distance(id.Namespace, parts[1]), 2)
		}
		near.add(d, id)
	}
	for _, id := range near.list() {
		names = append(names, id.String())
	}
	return names
}
