package generator

import "slices"

// DropBytes drops the bytes of the unit's files. A later [Render] knows the unit all the same, and
// [Output.ReloadBytes] renders it again if they are needed: who keeps thousands of units that are
// written need not keep their text.
func (u *Unit) DropBytes() {
	if u.relies {
		return // it is rendered again anyway, and only with what stands in today
	}
	for i := range u.Files {
		u.Files[i].Data, u.Files[i].Redacted = nil, nil
	}
	u.dropped = true
}

// ReloadBytes gives a unit of the output with the bytes of its files. If they were dropped it is
// another one, which takes the place of the unit.
func (out *Output) ReloadBytes(u *Unit) *Unit {
	i := slices.Index(out.Units, u)
	if i < 0 || !u.dropped {
		return u
	}
	out.Units[i] = out.renderer.unit(out.Hierarchies[i])
	return out.Units[i]
}
