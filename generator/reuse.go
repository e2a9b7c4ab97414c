package generator

import (
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// basis is what a unit was rendered from. A unit with an unchanged basis is reused in the next output.
type basis struct {
	objects      []*manifest.Object               // those of the hierarchy, in its order
	dependencies map[manifest.ID]*manifest.Object // nil for those that were not found
	external     map[manifest.ID]*manifest.External
	leftOut      map[manifest.ID]bool             // those of them that the set leaves out because of an error
	renamed      map[manifest.ID]*manifest.Object // what kustomize made of those that were not found, or nil
	diags        string                           // of the hierarchy, as text
	hasAccount   bool                             // the ServiceAccount of the pods is in the inputs
	usedLastGood bool                             // it depends on last good versions, which may change
}

func newBasis(h *hierarchy.Hierarchy, set *manifest.Set, dependencies map[manifest.ID]*manifest.Object,
	usedLastGood bool) basis {
	b := basis{dependencies: dependencies, external: map[manifest.ID]*manifest.External{},
		leftOut: map[manifest.ID]bool{}, renamed: map[manifest.ID]*manifest.Object{}, diags: diagText(h.Diags),
		usedLastGood: usedLastGood}
	h.Objects(func(o *manifest.Object) bool {
		b.objects = append(b.objects, o)
		return true
	})
	for id, o := range dependencies {
		if o == nil {
			b.renamed[id] = set.Renamed(id)
		}
		if set.IsLeftOut(id) {
			b.leftOut[id] = true
		}
		if external := set.Named()[id].External; external != nil {
			b.external[id] = external
		}
	}
	return b
}

// is reports whether a hierarchy has this basis: all of its objects, and those that they refer to, are the same.
func (b *basis) is(h *hierarchy.Hierarchy, set *manifest.Set) bool {
	n, equal := 0, true
	h.Objects(func(o *manifest.Object) bool {
		equal = n < len(b.objects) && b.objects[n] == o
		n++
		return equal
	})
	if !equal || n != len(b.objects) {
		return false
	}
	for id, o := range b.dependencies {
		if set.Get(id) != o || set.IsLeftOut(id) != b.leftOut[id] || set.Named()[id].External != b.external[id] ||
			o == nil && set.Renamed(id) != b.renamed[id] {
			return false
		}
	}
	return b.diags == diagText(h.Diags)
}

// dependsOn reports whether the basis refers to one of the objects.
func (b *basis) dependsOn(objects map[manifest.ID]bool) bool {
	if len(objects) < len(b.dependencies) {
		for id := range objects {
			if _, ok := b.dependencies[id]; ok {
				return true
			}
		}
		return false
	}
	for id := range b.dependencies {
		if objects[id] {
			return true
		}
	}
	return false
}

// known has the results for a set that an earlier render already gave.
type known struct {
	before      *Output // nil if there is none
	units       map[string]*Unit
	hierarchies []*hierarchy.Hierarchy // those of the set; nil if they have to be built
	replaced    map[manifest.ID]bool   // the objects that differ, if there are hierarchies
}

// known returns the results of this output that are valid for another set.
func (out *Output) known(set *manifest.Set) known {
	if out == nil {
		return known{}
	}
	k := known{before: out, units: make(map[string]*Unit, len(out.Units))}
	for _, u := range out.Units {
		k.units[u.Name] = u.asRendered()
	}
	replaced, ok := set.Replaced(out.renderer.set)
	if !ok {
		return k
	}
	if k.hierarchies, ok = hierarchy.Rebuild(out.Hierarchies, replaced); !ok {
		return k
	}
	k.replaced = make(map[manifest.ID]bool, len(replaced))
	for o := range replaced {
		k.replaced[o.ID] = true
	}
	return k
}

// unit returns the unit of hierarchy i of a set, or nil if it must be rendered.
func (k *known) unit(i int, h *hierarchy.Hierarchy, set *manifest.Set) *Unit {
	u := k.units[h.Name()]
	switch {
	case u == nil || u.basis.usedLastGood:
		return nil
	case k.hierarchies != nil && k.before.Hierarchies[i] == h:
		if u.basis.dependsOn(k.replaced) {
			return nil
		}
	case !u.basis.is(h, set) || u.basis.hasAccount != hasAccount(set, u.account()):
		return nil
	}
	return u
}

func diagText(list diag.List) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	for _, d := range list {
		b.WriteString(d.String())
		b.WriteByte('\t')
		b.WriteString(d.Hint)
		b.WriteByte('\n')
	}
	return b.String()
}
