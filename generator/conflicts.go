package generator

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// conflicts are objects that two units, or a unit and the inputs, would both own.
type conflicts struct {
	// lost are the units that must not be written.
	lost map[*Unit]bool
	// yielded are the objects that are not passed through because a unit renders them, each with the GrafanaAgent of
	// that unit.
	yielded map[manifest.ID]*manifest.Object
	diags   diag.List
}

// findConflicts finds the conflicts of the units of GrafanaAgents. A unit that has the object on the output branch
// already wins; the others lose. An object that is passed through yields to a unit, unless it is on the output branch
// already and the unit is not.
func findConflicts(units []*Unit, set *manifest.Set, lastGood LastGood) conflicts {
	out := conflicts{lost: map[*Unit]bool{}, yielded: map[manifest.ID]*manifest.Object{}}
	reported := map[[2]diag.Object]bool{}
	report := func(u *Unit, other *manifest.Object, format string, args ...any) {
		agent := u.Hierarchy.Agent
		if p := [2]diag.Object{agent.Ref(), other.Ref()}; !reported[p] {
			reported[p] = true
			d := agent.Place(diag.NameConflict.At("metadata.name", format, args...))
			d.Units, d.Related = []string{u.Name}, []diag.Object{other.Ref()}
			out.diags = append(out.diags, d)
		}
	}
	owns := func(u *Unit, id manifest.ID) bool { return lastGood != nil && lastGood.Owns(u.Name, id) }
	contest := func(u, other *Unit, id manifest.ID) {
		if owns(u, id) && !owns(other, id) {
			return
		}
		out.lost[u] = true
		agent, with := u.Hierarchy.Agent, other.Hierarchy.Agent
		report(u, with, "%s would be rendered for %s too", id, with.SeenFrom(agent, "metadata.name"))
	}
	owners := map[manifest.ID]*Unit{}
	for _, u := range units {
		for id := range u.objects {
			if other := owners[id]; other != nil {
				contest(u, other, id)
				contest(other, u, id)
				continue
			}
			owners[id] = u
			o := set.Find(id)
			switch {
			case o == nil:
			case o.IsPassed && (owns(u, id) || lastGood == nil ||
				!lastGood.Owns(passthrough.Unit(o.Namespace), id)):
				out.yielded[id] = u.Hierarchy.Agent
			default:
				report(u, o, "would be rendered, and is in the inputs already: %s", o.SeenFrom(u.Hierarchy.Agent, ""))
				out.lost[u] = out.lost[u] || !owns(u, id)
			}
		}
	}
	return out
}

// resolve returns the units, with a failed one in the place of each that lost a conflict.
func (c *conflicts) resolve(units []*Unit) []*Unit {
	units = slices.Clone(units)
	for i, u := range units {
		if c.lost[u] {
			failed := *u
			failed.Failed, failed.Files, failed.isStripped = true, nil, false
			units[i] = &failed
		}
	}
	return units
}
