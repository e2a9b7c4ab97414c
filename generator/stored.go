package generator

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/rbac"
)

// StoredUnit is a unit of a GrafanaAgent in a form that can be stored, without the bytes of its files. It has numbers
// in place of the objects that it was rendered from.
type StoredUnit struct {
	Name    string
	Runtime string
	Files   []File // without Data, Stored, Value and Config
	Inputs  []manifest.ID
	Jobs    map[manifest.ID]int
	Needs   []rbac.Need
	Matched map[int]bool
	Diags   diag.List
	Names   *explain.Names

	Objects      []int
	Dependencies map[manifest.ID]int // -1 if there is none
	About        string              // the findings about the hierarchy
	HasAccount   bool
}

// Stored returns a unit of a GrafanaAgent in a form that can be stored. number returns the number of an object, or -1
// if it is not stored. It reports false if the unit depends on something else.
func (u *Unit) Stored(number func(*manifest.Object) int) (StoredUnit, bool) {
	b := &u.basis
	if u.Hierarchy == nil || u.Paused || u.Failed || b.usedLastGood || len(u.Held)+len(b.external)+len(b.leftOut) > 0 {
		return StoredUnit{}, false
	}
	out := StoredUnit{Name: u.Name, Runtime: u.Runtime, Files: slices.Clone(u.Files), Inputs: u.Inputs, Jobs: u.Jobs,
		Needs: u.needs, Matched: u.matched, Diags: u.diags, Names: u.names, Objects: make([]int, len(b.objects)),
		Dependencies: make(map[manifest.ID]int, len(b.dependencies)), About: b.diags, HasAccount: b.hasAccount}
	for i := range out.Files {
		f := &out.Files[i]
		f.Data, f.Stored, f.Value, f.Config = nil, nil, nil, nil
	}
	for i, o := range b.objects {
		if out.Objects[i] = number(o); out.Objects[i] < 0 {
			return StoredUnit{}, false
		}
	}
	for id, o := range b.dependencies {
		out.Dependencies[id] = -1
		if o == nil && b.renamed[id] != nil {
			return StoredUnit{}, false
		}
		if o != nil {
			if out.Dependencies[id] = number(o); out.Dependencies[id] < 0 {
				return StoredUnit{}, false
			}
		}
	}
	return out, true
}

// Restored returns an output for [Render] to take units over from, and for nothing else. Units are left out that have
// an object of which nothing is known: objects are by their numbers, or nil.
func Restored(units []StoredUnit, objects []*manifest.Object) *Output {
	out := &Output{}
	for i := range units {
		s := &units[i]
		u := &Unit{Name: s.Name, Runtime: s.Runtime, Files: s.Files, Inputs: s.Inputs, Jobs: s.Jobs, needs: s.Needs,
			matched: s.Matched, diags: s.Diags, names: s.Names, isLean: true, isStripped: true,
			basis: basis{objects: make([]*manifest.Object, len(s.Objects)),
				dependencies: make(map[manifest.ID]*manifest.Object, len(s.Dependencies)), diags: s.About,
				hasAccount: s.HasAccount}}
		isKnown := true
		object := func(n int) *manifest.Object {
			isKnown = isKnown && n >= 0 && n < len(objects) && objects[n] != nil
			if !isKnown {
				return nil
			}
			return objects[n]
		}
		for i, n := range s.Objects {
			u.basis.objects[i] = object(n)
		}
		for id, n := range s.Dependencies {
			if u.basis.dependencies[id] = nil; n != -1 {
				u.basis.dependencies[id] = object(n)
			}
		}
		if isKnown {
			out.alone = append(out.alone, u)
		}
	}
	out.Units = out.alone
	return out
}
