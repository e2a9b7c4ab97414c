package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// doubtfulReferences warns about references, under the policy reference, that the cluster will most likely not resolve:
// to a Secret or ConfigMap of which the inputs have one only in another namespace, or in the same one under the name
// that kustomize gave it or one that is almost the same, and to a key that an encrypted Secret does not have.
func (r renderer) doubtfulReferences(units []*Unit) diag.List {
	set, policies := r.set, r.opts.policies()
	if !policies.Any(secretref.Reference) || set.MayLack("Secret") {
		return nil
	}
	known := newInventory(set)
	if len(known.names) == 0 {
		return nil
	}
	var diags diag.List
	for _, u := range units {
		suspect := map[manifest.ID]bool{}
		for id, o := range u.basis.dependencies {
			if o == nil && !set.IsLeftOut(id) && (known.resembles(id) || set.Renamed(id) != nil) {
				suspect[id] = true
			}
		}
		if len(suspect) == 0 {
			continue
		}
		u.Hierarchy.Objects(func(o *manifest.Object) bool {
			for _, f := range secretref.References(o) {
				id := f.Ref.ID()
				if !suspect[id] || f.Ref.Optional || policies.Of(id, nil) != secretref.Reference {
					continue
				}
				if d, ok := doubtful(o, f, set, known); ok {
					d.Units = []string{u.Name}
					diags = append(diags, d)
				}
			}
			return true
		})
	}
	return diags
}

// inventory has the Secrets and ConfigMaps of the inputs, also encrypted ones.
type inventory struct {
	namespaces map[manifest.ID][]string // of each kind and name
	names      map[manifest.ID][]string // of each kind and namespace
}

func newInventory(set *manifest.Set) inventory {
	known := inventory{map[manifest.ID][]string{}, map[manifest.ID][]string{}}
	add := func(id manifest.ID) {
		named, in := manifest.ID{Kind: id.Kind, Name: id.Name}, manifest.ID{Kind: id.Kind, Namespace: id.Namespace}
		known.namespaces[named] = append(known.namespaces[named], id.Namespace)
		known.names[in] = append(known.names[in], id.Name)
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		for _, o := range set.Kind(kind) {
			add(o.ID)
		}
	}
	for id := range set.Named() {
		if id.Kind == "Secret" {
			add(id)
		}
	}
	return known
}

// maxCompared is the largest number of names that one is compared with, letter by letter.
const maxCompared = 200

// almost returns the name of the same kind and namespace of which the object's is a misspelling, if there is one only.
func (k inventory) almost(id manifest.ID) (name string, found bool) {
	names := k.names[manifest.ID{Kind: id.Kind, Namespace: id.Namespace}]
	if len(names) > maxCompared {
		return "", false
	}
	for _, other := range names {
		if isMisspelt(id.Name, other) {
			if found {
				return "", false
			}
			name, found = other, true
		}
	}
	return name, found
}

// resembles reports whether there is one of the same name elsewhere, or of almost the same name.
func (k inventory) resembles(id manifest.ID) bool {
	_, found := k.almost(id)
	return found || len(k.namespaces[manifest.ID{Kind: id.Kind, Name: id.Name}]) > 0
}

// doubtful returns the finding about a reference to what is not in the inputs in clear.
func doubtful(o *manifest.Object, f secretref.Field, set *manifest.Set, known inventory) (d diag.Diagnostic, ok bool) {
	id := f.Ref.ID()
	if named := set.Named()[id]; named.Name != "" {
		if !named.Lacks(f.Ref.Key) {
			return d, false
		}
		lacking := secretref.Lacking(f.Ref, named)
		lacking.Severity, lacking.Path = diag.Warning, f.Path
		return o.Place(lacking), true
	}
	if renamed := set.Renamed(id); renamed != nil {
		d = o.Place(diag.MissingSecret.At(f.Path, "%s %s/%s is not in the inputs", id.Kind, id.Namespace, id.Name).
			As(diag.Warning))
		d.Hint = secretref.RenamedHint(id.Name, renamed)
		return d, true
	}
	if namespaces := known.namespaces[manifest.ID{Kind: id.Kind, Name: id.Name}]; len(namespaces) > 0 {
		slices.Sort(namespaces)
		d = o.Place(diag.MissingSecret.At(f.Path, "%s %s/%s is not in the inputs, but one of that name is in %s",
			id.Kind, id.Namespace, id.Name, strings.Join(slices.Compact(namespaces), ", ")).As(diag.Warning))
		d.Hint = fmt.Sprintf("the pods can mount only what is in the namespace %s: put it there", id.Namespace)
		return d, true
	}
	meant, found := known.almost(id)
	if !found {
		return d, false
	}
	d = o.Place(diag.MissingSecret.At(f.Path, "%s %s/%s is not in the inputs", id.Kind, id.Namespace, id.Name).
		As(diag.Info))
	d.Hint = "did you mean " + meant + "?"
	return d, true
}

// isMisspelt reports whether a name is another one with a letter missing, added, changed or swapped. Names that differ
// in a digit are meant to differ.
func isMisspelt(name, other string) bool {
	letters := func(s string) string { return strings.Trim(s, "0123456789") }
	return len(name) > 3 && diag.Distance(name, other) == 1 && diag.Distance(letters(name), letters(other)) == 1
}
