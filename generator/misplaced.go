package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// misplaced warns about references, under the policy reference, that the cluster will most likely not resolve:
// to a Secret or ConfigMap of which the inputs have one only in another namespace, and to a key that an
// encrypted Secret does not have.
func misplaced(out *Output) diag.List {
	set := out.renderer.set
	policies := out.renderer.opts.policies()
	if !policies.Any(secretref.Reference) || set.MayLack("Secret") {
		return nil
	}
	places := namesakes(set)
	if len(places) == 0 {
		return nil
	}
	var diags diag.List
	for _, u := range out.Units {
		suspect := map[manifest.ID]bool{}
		for id, o := range u.basis.dependencies {
			if o == nil && len(places[manifest.ID{Kind: id.Kind, Name: id.Name}]) > 0 && !set.IsLeftOut(id) {
				suspect[id] = true
			}
		}
		if len(suspect) == 0 {
			continue
		}
		u.Hierarchy.Objects(func(o *manifest.Object) bool {
			for _, f := range secretref.References(o) {
				id := manifest.ID{Kind: f.Ref.Kind, Namespace: f.Ref.Namespace, Name: f.Ref.Name}
				if !suspect[id] || f.Ref.Optional || policies.Of(id, nil) != secretref.Reference {
					continue
				}
				if d, ok := doubtful(o, f, set.Named()[id], places[manifest.ID{Kind: id.Kind, Name: id.Name}]); ok {
					d.Units = []string{u.Name}
					diags = append(diags, d)
				}
			}
			return true
		})
	}
	return diags
}

// namesakes returns the namespaces of all Secrets and ConfigMaps, by kind and name.
func namesakes(set *manifest.Set) map[manifest.ID][]string {
	out := map[manifest.ID][]string{}
	add := func(id manifest.ID) {
		name := manifest.ID{Kind: id.Kind, Name: id.Name}
		out[name] = append(out[name], id.Namespace)
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
	return out
}

// doubtful returns the warning about a reference to what is not in the inputs in clear. named is the encrypted
// Secret that it names, if there is one, and namespaces are those that have one with the name.
func doubtful(o *manifest.Object, f secretref.Field, named manifest.Named, namespaces []string) (d diag.Diagnostic, ok bool) {
	switch {
	case named.Name == "":
		slices.Sort(namespaces)
		d = o.Diag(diag.Warning, diag.MissingSecret, f.Path, "%s %s/%s is not in the inputs, but one of that name is in %s",
			f.Ref.Kind, f.Ref.Namespace, f.Ref.Name, strings.Join(slices.Compact(namespaces), ", "))
		d.Hint = fmt.Sprintf("the pods can mount only what is in the namespace %s: put it there", f.Ref.Namespace)
	case named.Lacks(f.Ref.Key):
		lacking := secretref.Lacking(f.Ref, named)
		lacking.Severity, lacking.Path = diag.Warning, f.Path
		d = o.Found(lacking)
	default:
		return d, false
	}
	return d, true
}
