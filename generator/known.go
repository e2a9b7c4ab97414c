package generator

import (
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// known is what is known of a set from an earlier render.
type known struct {
	before      *Output // nil when there is none
	units       map[string]*Unit
	hierarchies []*hierarchy.Hierarchy // of the set; nil when they have to be built
	replaced    map[manifest.ID]bool   // the objects in which the set differs, if there are hierarchies
}

// known finds what of a render still holds for another set.
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

// unit is what hierarchy i of a set renders to, if that is known; nil if it is not.
func (k *known) unit(i int, h *hierarchy.Hierarchy, set *manifest.Set) *Unit {
	u := k.units[h.Name()]
	if u == nil || u.relies { // on what stands in: that may be another now
		return nil
	}
	if k.hierarchies != nil && k.before.Hierarchies[i] == h {
		if u.looksAt(k.replaced) {
			return nil
		}
		return u
	}
	if !u.same(h, set) {
		return nil
	}
	return u
}

// looksAt reports whether the unit refers to one of some objects.
func (u *Unit) looksAt(objects map[manifest.ID]bool) bool {
	if len(objects) < len(u.looked) {
		for id := range objects {
			if _, ok := u.looked[id]; ok {
				return true
			}
		}
		return false
	}
	for id := range u.looked {
		if objects[id] {
			return true
		}
	}
	return false
}

// asRendered is the unit before a conflict took it out.
func (u *Unit) asRendered() *Unit {
	if u.whole != nil {
		return u.whole
	}
	return u
}
