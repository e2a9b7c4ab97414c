package generator

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// remember keeps what the unit is rendered from, to know it again.
func (u *Unit) remember(h *hierarchy.Hierarchy) {
	h.Objects(func(o *manifest.Object) bool {
		u.objects = append(u.objects, o)
		return true
	})
}

// same reports whether a hierarchy would render to this unit: all its objects, and what
// they refer to, are the very ones that the unit was rendered from.
func (u *Unit) same(h *hierarchy.Hierarchy, set *manifest.Set) bool {
	n, equal := 0, true
	h.Objects(func(o *manifest.Object) bool {
		equal = n < len(u.objects) && u.objects[n] == o
		n++
		return equal
	})
	if !equal || n != len(u.objects) {
		return false
	}
	for id, o := range u.looked {
		if set.Get(id) != o || set.IsLeftOut(id) != u.waits[id] {
			return false
		}
	}
	return u.hierarchyDiags == diagText(h.Diags)
}

// finish derives what the unit says about itself from what was found.
func (u *Unit) finish() {
	for i := range u.diags {
		u.diags[i].Units = []string{u.Name}
	}
	if len(u.Files) > 0 {
		var resources []string
		for _, f := range u.Files {
			if f.Manifest {
				resources = append(resources, f.Path)
			}
		}
		u.Files = append(u.Files, File{Path: KustomizationFile, Data: Kustomization(resources), Manifest: true})
	}
	slices.SortFunc(u.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(u.Inputs, manifest.ID.Compare)
	u.Inputs = slices.Compact(u.Inputs)
}

// from notes an object that the unit is rendered from.
func (u *Unit) from(o *manifest.Object) { u.Inputs = append(u.Inputs, o.ID) }

// ownsOnly reports whether a unit has no manifest that an earlier render of it had not.
func (u *Unit) ownsOnly(before *Unit) bool {
	rest := before.Files
	for _, f := range u.Files {
		if !f.Manifest {
			continue
		}
		// Both are sorted by path, and an object has one.
		i := slices.IndexFunc(rest, func(old File) bool { return old.Manifest && old.Object == f.Object })
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	return true
}

// fail takes a unit out because of something between units.
func (u *Unit) fail() *Unit {
	failed := *u
	failed.Failed, failed.Files = true, nil
	failed.whole, failed.dropped = u, false
	return &failed
}

// conflicts finds objects that two units, or a unit and the inputs, would both own. A unit that
// has the object on the output branch already stays; the others involved are not rendered.
func conflicts(out *Output, set *manifest.Set, lastGood LastGood) diag.List {
	owners := map[manifest.ID]int{}
	var diags diag.List
	failed := map[int]bool{}
	told := map[pair]bool{}
	tell := func(i int, other *manifest.Object, format string, args ...any) {
		agent := out.Hierarchies[i].Agent
		if p := (pair{diag.NameConflict, agent.Ref(), other.Ref()}); !told[p] {
			told[p] = true
			d := agent.Diag(diag.Error, diag.NameConflict, "metadata.name", format, args...)
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
		tell(i, with, "%s would be rendered for %s too", id, with.SeenFrom(agent, "metadata.name"))
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
			if o := set.Get(f.Object); o != nil {
				tell(i, o, "would be rendered, and is in the inputs already: %s", o.SeenFrom(out.Hierarchies[i].Agent, ""))
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

// merge sorts diagnostics, and joins those that several units share.
func merge(list diag.List) diag.List {
	type key struct {
		code          diag.Code
		message, file string
		line, column  int
		object        diag.Object
	}
	at := map[key]int{}
	var out diag.List
	for _, d := range list {
		k := key{d.Code, d.Message, d.Source + "\n" + d.File, d.Line, d.Column, d.Object}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			d.Units = slices.Clone(d.Units)
			out = append(out, d)
			continue
		}
		out[i].Units = union(out[i].Units, d.Units)
		out[i].Related = union(slices.Clip(out[i].Related), d.Related)
	}
	out.Sort()
	return out
}

// union adds to a list what it lacks of another.
func union[T comparable](list, more []T) []T {
	for _, item := range more {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
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
