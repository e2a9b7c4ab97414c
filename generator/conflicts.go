package generator

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// conflicts finds objects that two units, or a unit and the inputs, would both own. A unit that has the object on the
// output branch already stays; the others are taken out. An object that is passed through yields to a unit, unless it
// is on the output branch already and the unit is not: then it is among those taken.
func conflicts(out *Output, set *manifest.Set, lastGood LastGood) diag.List {
	owners := map[manifest.ID]int{}
	out.taken = map[manifest.ID]*manifest.Object{}
	var diags diag.List
	failed := map[int]bool{}
	reported := map[[2]diag.Object]bool{}
	report := func(i int, other *manifest.Object, format string, args ...any) {
		agent := out.Hierarchies[i].Agent
		if p := [2]diag.Object{agent.Ref(), other.Ref()}; !reported[p] {
			reported[p] = true
			d := agent.Place(diag.NameConflict.At("metadata.name", format, args...))
			d.Units, d.Related = []string{out.Units[i].Name}, []diag.Object{other.Ref()}
			diags = append(diags, d)
		}
	}
	owns := func(i int, id manifest.ID) bool { return lastGood != nil && lastGood.Owns(out.Units[i].Name, id) }
	yields := func(i, other int, id manifest.ID) {
		if owns(i, id) && !owns(other, id) {
			return
		}
		failed[i] = true
		agent, with := out.Hierarchies[i].Agent, out.Hierarchies[other].Agent
		report(i, with, "%s would be rendered for %s too", id, with.SeenFrom(agent, "metadata.name"))
	}
	for i, u := range out.Units {
		for _, f := range u.Files {
			if f.Object == (manifest.ID{}) || !f.Manifest {
				continue
			}
			if other, taken := owners[f.Object]; taken {
				yields(i, other, f.Object)
				yields(other, i, f.Object)
				continue
			}
			owners[f.Object] = i
			o := set.Find(f.Object)
			switch {
			case o == nil:
			case o.Passed != nil && (owns(i, f.Object) || lastGood == nil ||
				!lastGood.Owns(passthrough.Unit(o.Namespace), o.ID)):
				out.taken[f.Object] = out.Hierarchies[i].Agent
			default:
				report(i, o, "would be rendered, and is in the inputs already: %s",
					o.SeenFrom(out.Hierarchies[i].Agent, ""))
				failed[i] = failed[i] || !owns(i, f.Object)
			}
		}
	}
	for i, is := range failed {
		if is {
			out.Units[i] = out.Units[i].fail()
		}
	}
	return diags
}

// fail takes a unit out because of a conflict.
func (u *Unit) fail() *Unit {
	failed := *u
	failed.Failed, failed.Files = true, nil
	failed.unopposed, failed.dropped = u, false
	return &failed
}

// asRendered returns the unit as it was before a conflict took it out.
func (u *Unit) asRendered() *Unit {
	if u.unopposed != nil {
		return u.unopposed
	}
	return u
}

// sameOwners reports whether there is no conflict between units because there was none in prev: no object is rendered
// or in the inputs that was not then.
func (out *Output) sameOwners(prev *Output) bool {
	if prev == nil || prev.refused || len(prev.between)+len(prev.taken) > 0 ||
		len(prev.Hierarchies) != len(out.Units) || !out.renderer.set.SameNames(prev.renderer.set) {
		return false
	}
	for i, u := range out.Units {
		if u != prev.Units[i] && (u.Name != prev.Units[i].Name || !u.ownsOnly(prev.Units[i])) {
			return false
		}
	}
	return true
}

// ownsOnly reports whether every manifest of a unit was in its earlier render too.
func (u *Unit) ownsOnly(before *Unit) bool {
	rest := before.Files
	for _, f := range u.Files {
		if !f.Manifest {
			continue
		}
		// Both are sorted by path, and each object has one path.
		i := slices.IndexFunc(rest, func(old File) bool { return old.Manifest && old.Object == f.Object })
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	return true
}
