package history

import (
	"cmp"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Commit takes note that a pass committed what was expected of it.
func (m *Model) Commit(v *Verdict) {
	st, old := &m.State, m.State.units
	st.units = map[string]*folder{}
	for name, u := range v.Units {
		switch was := old[name]; {
		case u.Gone:
		case u.Files == nil:
			st.units[name] = was
		default:
			st.units[name] = u.folder(was, m, below(m.Before, name))
		}
	}
	st.Base = v.seen.now
	st.records = v.records(st, m.Epochs)
}

// folder is a unit that was rendered. What it says of itself is as old as its files.
func (u *Unit) folder(was *folder, m *Model, before map[string]string) *folder {
	same := was != nil
	for name, text := range u.Files {
		same = same && before[name] == text
	}
	for name := range before {
		_, ours := u.Files[name]
		same = same && (ours || was == nil || !was.files[name])
	}
	if same {
		f := *was
		f.inputs = maps.Clone(was.inputs)
		for id := range f.inputs {
			if d, ok := u.objects[id]; ok {
				f.inputs[id] = d
			}
		}
		return &f
	}
	f := &folder{inputs: u.objects, plain: m.Plain, label: m.Label, storage: u.view.agent.Storage,
		files: map[string]bool{}}
	for name := range u.Files {
		f.files[name] = true
	}
	return f
}

// records are the versions that go with the commit.
func (v *Verdict) records(st *State, epochs []int) []record {
	var out []record
	add := func(id manifest.ID, d Doc, unit string, hidden []place) {
		r := record{id: id, doc: d, unit: unit, hidden: hidden, source: v.sourceOf(d)}
		r.epoch = epochs[r.source]
		for _, was := range st.records {
			if was.doc == d && (d != Doc{}) { // what is recorded stays where it was found
				r.source, r.epoch = was.source, was.epoch
			}
		}
		out = append(out, r)
	}
	for id, d := range v.standIn {
		if id.Kind == "Namespace" || v.isUsed(id) {
			add(id, d, "", v.unread[id])
		}
	}
	for name, f := range st.units {
		u := v.Units[name]
		if u.Files != nil {
			for id, d := range u.replace {
				add(id, d, name, v.unread[id])
			}
		}
		for id, d := range f.inputs {
			if !v.stays(name, id, d, st) {
				continue
			}
			hidden := slices.Concat(v.unread[id], v.coarse(id))
			if old, ok := st.recordFor(name, id); ok && d == (Doc{}) { // a lost version keeps its record
				old.unit, old.hidden = name, hidden
				out = append(out, old)
				continue
			}
			add(id, d, name, hidden)
		}
	}
	slices.SortFunc(out, record.compare)
	return out
}

func (r record) compare(other record) int {
	return cmp.Or(r.id.Compare(other.id), cmp.Compare(r.unit, other.unit))
}

// stays tells whether a unit that stays as it is has another version of an object than the
// sources. What was deleted is none, but for Secrets and ConfigMaps: somebody may refer to them.
// If the unit is paused, it is only what cannot be read or was held for it before.
func (v *Verdict) stays(unit string, id manifest.ID, d Doc, st *State) bool {
	u := v.Units[unit]
	now, there := v.seen.objects[id]
	_, unread := v.unread[id]
	unread = unread || len(v.coarse(id)) > 0
	old, recorded := st.recordFor(unit, id)
	held := recorded && old.unit == unit && old.doc != Doc{}
	switch {
	case !u.keep && !u.paused, u.paused && !unread && !held:
		return false
	case there && d == Doc{}:
		return recorded && old.doc != Doc{}
	case there:
		return d != now
	}
	return unread || id.Kind == "Secret" || id.Kind == "ConfigMap"
}

// sourceOf finds the source whose base has a version.
func (v *Verdict) sourceOf(d Doc) int {
	for i, files := range v.seen.base {
		for _, list := range files {
			if slices.Contains(list, d) {
				return i
			}
		}
	}
	return 0
}

// recall finds out which versions of the inputs of units are known: what is recorded, or else
// what is at the base.
func (st *State) recall(base []Files, epochs []int) {
	there, _ := usable(base)
	st.units = maps.Clone(st.units)
	for name, was := range st.units {
		f := *was
		f.inputs = docs{}
		for id := range was.inputs {
			f.inputs[id] = there[id]
			if r, ok := st.recordFor(name, id); ok {
				f.inputs[id] = r.doc
				if r.lost(epochs) {
					f.inputs[id] = Doc{}
				}
			}
		}
		st.units[name] = &f
	}
}

// recordFor is the record of an object for a unit, or else that for all.
func (st *State) recordFor(unit string, id manifest.ID) (record, bool) {
	for _, unit := range []string{unit, ""} {
		n := slices.IndexFunc(st.records, func(r record) bool { return r.id == id && r.unit == unit })
		if n >= 0 {
			return st.records[n], true
		}
	}
	return record{}, false
}

// findHeld lists the objects that are not rendered as they are, with the units for which.
func (v *Verdict) findHeld(st *State) {
	v.Held, v.Vague = map[manifest.ID]map[string]bool{}, map[manifest.ID]bool{}
	add := func(id manifest.ID, unit string) {
		if v.Held[id] == nil {
			v.Held[id] = map[string]bool{}
		}
		if unit != "" {
			v.Held[id][unit] = true
		}
	}
	for name, u := range v.Units {
		was := st.units[name]
		for id := range v.unread {
			_, stands := v.standIn[id]
			if _, own := u.held[id]; stands && u.uses(id) && !own {
				add(id, name)
			}
		}
		if u.Files != nil {
			for id := range u.held {
				add(id, name)
			}
		}
		if was == nil {
			continue
		}
		for id, d := range was.inputs {
			if v.stays(name, id, d, st) {
				add(id, name)
			}
			if u.keep && d == (Doc{}) {
				v.Vague[id] = true
			}
		}
	}
	for id, hidden := range v.unread {
		if _, stands := v.standIn[id]; len(hidden) == 0 || stands && id.Kind == "Namespace" {
			add(id, "")
		}
	}
}

// isUsed tells whether a unit is rendered from what stands in for an object for all.
func (v *Verdict) isUsed(id manifest.ID) bool {
	for _, u := range v.Units {
		if _, own := u.held[id]; u.uses(id) && !own {
			return true
		}
	}
	return false
}

// uses tells whether a unit is rendered from an object, or in a Namespace.
func (u *Unit) uses(id manifest.ID) bool {
	if u.Files == nil {
		return false
	}
	for used := range u.objects {
		if used == id || id.Kind == "Namespace" && used.Namespace == id.Name {
			return true
		}
	}
	return false
}
