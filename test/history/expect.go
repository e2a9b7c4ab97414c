package history

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// State is what a model knows of the output branch.
type State struct {
	Base    []Files // what the last commit saw of the sources; nil when there was none
	units   map[string]*folder
	records []record
}

// folder is a unit on the output branch.
type folder struct {
	inputs  docs            // what it was last rendered from; the zero doc if that is not known any more
	plain   bool            // it was written under the policy plaintext
	label   string          // with this label
	storage int             // and these volumes
	files   map[string]bool // what was written
}

// record is a version that the output branch keeps.
type record struct {
	id     manifest.ID
	doc    Doc    // zero if the version is not known
	unit   string // empty: for all
	hidden []place
	// That of a Secret stands in a commit of a source, which may have lost it since.
	source, epoch int
}

// place is a file of a source, or a path that is missing.
type place struct {
	source int
	path   string
}

// observation is what a pass sees of the sources.
type observation struct {
	now, base []Files // base has nil for what cannot be had
	objects   docs    // those that can be read
	unusable  map[manifest.ID]bool
	changed   []place // files that cannot be read and are not as at base
	unread    []place // all files that cannot be read
	missing   []place // paths that are not there
}

func (p Pipeline) look(now, base []Files) observation {
	s := observation{now: now, base: base, objects: docs{}, unusable: map[manifest.ID]bool{}}
	s.objects, s.unusable = usable(now)
	for i, files := range now {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if !slices.ContainsFunc(files[name], Doc.hides) {
				continue
			}
			s.unread = append(s.unread, place{i, name})
			if base[i] == nil || !slices.Equal(base[i][name], files[name]) {
				s.changed = append(s.changed, place{i, name})
			}
		}
		for _, dir := range p.Paths[i] {
			if !hasBelow(files, dir) {
				s.missing = append(s.missing, place{i, dir})
			}
		}
	}
	return s
}

func hasBelow(files Files, dir string) bool {
	for name := range files {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// usable are the objects that can be read, and those that are there and cannot. Several definitions of a Namespace with
// the same labels are one.
func usable(sources []Files) (docs, map[manifest.ID]bool) {
	objects, unusable, ambiguous := docs{}, map[manifest.ID]bool{}, map[manifest.ID]bool{}
	for _, files := range sources {
		for _, list := range files {
			for _, d := range list {
				switch {
				case d.readable():
					if other, there := objects[d.ID()]; there && (d.Kind != "Namespace" || d.Team != other.Team) {
						ambiguous[d.ID()] = true
					}
					objects[d.ID()] = d
				case d.Fault == Invalid:
					unusable[d.ID()] = true
				}
			}
		}
	}
	for id := range maps.Clone(objects) {
		if delete(unusable, id); ambiguous[id] {
			delete(objects, id)
			unusable[id] = true
		}
	}
	return objects, unusable
}

// hidden are the places for which an object that vanished is not taken for deleted.
func (s observation) hidden(id manifest.ID, records []record) []place {
	var out []place
	for i, files := range s.base {
		for name, list := range files {
			if !slices.ContainsFunc(list, func(d Doc) bool { return !d.hides() && d.ID() == id }) {
				continue
			}
			if p := (place{i, name}); slices.Contains(s.unread, p) {
				out = append(out, p)
			}
			out = append(out, s.changedIn(i)...)
			for _, p := range s.missing {
				if p.source == i && strings.HasPrefix(name, p.path+"/") {
					out = append(out, p)
				}
			}
		}
	}
	for _, r := range records {
		if r.id != id {
			continue
		}
		for _, p := range r.hidden {
			if slices.Contains(s.unread, p) || slices.Contains(s.missing, p) {
				out = append(out, p)
			}
			out = append(out, s.changedIn(p.source)...)
		}
		if r.doc != (Doc{}) && s.isBaseUnknown(r.source) {
			out = append(out, s.unreadIn(r.source)...)
		}
	}
	return out
}

// isBaseUnknown reports whether nobody knows which objects of a source are missing: its base cannot be
// read, or lacks the missing path too.
func (s observation) isBaseUnknown(source int) bool {
	return s.base[source] == nil || slices.ContainsFunc(s.missing, func(p place) bool {
		return p.source == source && !hasBelow(s.base[source], p.path)
	})
}

// unreadIn are the places of a source that cannot be read.
func (s observation) unreadIn(source int) []place {
	return slices.DeleteFunc(slices.Concat(s.unread, s.missing), func(p place) bool { return p.source != source })
}

func (s observation) changedIn(source int) []place {
	return slices.DeleteFunc(slices.Clone(s.changed), func(p place) bool { return p.source != source })
}

// standIn is the last good version of an object that cannot be read: that at the base, unless
// all units have an older one. An object that no unit has is new.
func (st *State) standIn(id manifest.ID, base []Files, epochs []int) (Doc, bool) {
	used := id.Kind == "Namespace"
	for _, f := range st.units {
		_, had := f.inputs[id]
		used = used || had
	}
	if !used {
		return Doc{}, false
	}
	there, _ := usable(base)
	d, ok := there[id]
	of := slices.DeleteFunc(slices.Clone(st.records), func(r record) bool { return r.id != id || r.doc == Doc{} })
	has := func(unit string) bool {
		return slices.ContainsFunc(of, func(r record) bool { return r.unit == "" || r.unit == unit })
	}
	older := len(of) > 0
	for name, f := range st.units {
		if _, had := f.inputs[id]; had && !has(name) {
			older = false
		}
	}
	if ok && !older {
		return d, true
	}
	for _, r := range of { // those without a unit come first
		if !r.lost(epochs) {
			return r.doc, true
		}
	}
	return d, ok
}

// lost tells whether the version cannot be had any more.
func (r record) lost(epochs []int) bool { return r.doc.Kind == "Secret" && r.epoch < epochs[r.source] }

// Verdict is what a model expects of a pass.
type Verdict struct {
	seen    observation
	unread  map[manifest.ID][]place // objects that cannot be read or are hidden, by where
	standIn docs
	Units   map[string]*Unit
	Refused bool                            // nothing is committed, because old secrets would stay
	Held    map[manifest.ID]map[string]bool // objects that are not rendered as they are: for which units
	Vague   map[manifest.ID]bool            // objects that may be others than what units have of them
}

// Unit is a unit after the pass.
type Unit struct {
	unitResult
	Files   map[string]string // nil if it is kept
	Gone    bool              // it is not on the branch any more, or was never
	objects docs              // what it is rendered from
}

// unreadable finds the objects that are there and cannot be read, or are hidden, and
// what stands in for them.
func (v *Verdict) unreadable(st *State, epochs []int) {
	candidates := maps.Clone(v.seen.unusable)
	for _, files := range v.seen.base {
		for _, list := range files {
			for _, d := range list {
				if !d.hides() {
					candidates[d.ID()] = true
				}
			}
		}
	}
	for _, r := range st.records {
		candidates[r.id] = true
	}
	for id := range candidates {
		if _, ok := v.seen.objects[id]; ok {
			continue
		}
		var hidden []place
		if !v.seen.unusable[id] {
			if hidden = v.seen.hidden(id, st.records); len(hidden) == 0 {
				continue
			}
		}
		v.unread[id] = hidden
		if d, ok := st.standIn(id, v.seen.base, epochs); ok {
			v.standIn[id] = d
		}
	}
}

// coarse returns the places that may hold an object that is nowhere: those of sources whose base is unknown.
func (v *Verdict) coarse(id manifest.ID) []place {
	_, there := v.seen.objects[id]
	_, held := v.unread[id]
	for _, files := range v.seen.base {
		for _, list := range files {
			there = there || slices.ContainsFunc(list, func(d Doc) bool { return !d.hides() && d.ID() == id })
		}
	}
	if there || held {
		return nil
	}
	var out []place
	for i := range v.seen.base {
		if v.seen.isBaseUnknown(i) {
			out = append(out, v.seen.unreadIn(i)...)
		}
	}
	return out
}

// Model says what passes do to the output branch of a pipeline.
type Model struct {
	Pipeline
	*Renderer
	State  State
	Before map[string]string // the files of the branch before the pass
	Epochs []int             // how often each source has lost the commits that no ref needs
}

// Pipeline is what a model knows of a pipeline.
type Pipeline struct {
	Paths  [][]string // of each source: those that are missing if no document is below them
	Plain  bool       // the secrets policy is plaintext
	Label  string     // an operator label
	Chosen bool       // only agents of tier 0 are selected
}

// Expect says what a pass does that sees these sources. The base, which the last commit saw, is nil for a source that
// has lost it.
func (m *Model) Expect(now, base []Files) *Verdict {
	st := &m.State
	st.recall(base, m.Epochs)
	v := &Verdict{seen: m.look(now, base), unread: map[manifest.ID][]place{}, standIn: docs{},
		Units: map[string]*Unit{}}
	v.unreadable(st, m.Epochs)
	all := maps.Clone(v.seen.objects)
	maps.Copy(all, v.standIn)
	for id, d := range all {
		if id.Kind == "GrafanaAgent" && (!m.Chosen || d.Tier == 0) {
			m.expectUnit(v, id, all)
		}
	}
	for id := range all {
		if id.Kind == "ServiceAccount" {
			m.expectPassed(v, passthrough.Unit(id.Namespace), all)
		}
	}
	for name := range st.units {
		if passthrough.IsUnit(name) {
			m.expectPassed(v, name, all)
			continue
		}
		agent := agentOf(name)
		if _, there := all[agent]; v.Units[name] == nil && !there {
			_, held := v.unread[agent]
			keep := held || len(v.coarse(agent)) > 0
			v.Units[name] = &Unit{unitResult: unitResult{keep: keep}, Gone: !keep}
		}
	}
	m.collide(v, all)
	v.findHeld(st)
	for name, f := range st.units {
		u := v.Units[name]
		v.Refused = v.Refused || f.plain && !m.Plain && u != nil && !u.Gone && u.Files == nil
	}
	return v
}

func agentOf(unit string) manifest.ID {
	ns, name, _ := strings.Cut(unit, "/")
	return manifest.ID{Kind: "GrafanaAgent", Namespace: ns, Name: name}
}

// expectUnit says what becomes of the unit of a GrafanaAgent.
func (m *Model) expectUnit(v *Verdict, agent manifest.ID, all docs) {
	name := agent.Namespace + "/" + agent.Name
	was := m.State.units[name]
	left := maps.Clone(v.seen.unusable)
	maps.DeleteFunc(left, func(id manifest.ID, _ bool) bool { _, stands := all[id]; return stands })
	j := newUnitModel(agent, all, left, m.lastOf(name), m.Plain)
	u := &Unit{unitResult: j.run()}
	v.Units[name] = u
	if u.paused {
		u.Gone = was == nil
		return
	}
	if !u.keep && was != nil && m.immutable(name, u.view) {
		j.keep = !j.blame([]blame{{id: agent}})
		if u.unitResult = j.unitResult; !u.keep {
			u.unitResult = j.run()
		}
		u.keep = u.keep || !u.keep && m.immutable(name, u.view)
	}
	u.keep = u.keep || was != nil && v.misses(was, u.view.objects())
	if u.keep {
		u.Gone = was == nil
		return
	}
	u.objects = u.view.objects()
	u.Files = m.render(name, u.objects)
	u.Gone = len(u.Files) == 0
}

// misses tells whether a unit was rendered from an object that nobody can have now. What the unit has of an object
// stands in, though it was deleted.
func (v *Verdict) misses(was *folder, rendered docs) bool {
	for id := range was.inputs {
		_, is := rendered[id]
		_, held := v.unread[id]
		_, stands := v.standIn[id]
		if !is && (held && !stands || len(v.coarse(id)) > 0) {
			return true
		}
	}
	return false
}

// expectPassed says what becomes of what is passed through to the namespace of a unit.
func (m *Model) expectPassed(v *Verdict, name string, all docs) {
	ns, _, _ := strings.Cut(name, "/")
	objects := docs{}
	for id, d := range all {
		if id.Kind != "ServiceAccount" || id.Namespace != ns {
			continue
		}
		objects[id] = d
		if space, ok := all[manifest.ID{Kind: "Namespace", Name: ns}]; ok {
			objects[space.ID()] = space
		}
	}
	u := &Unit{}
	v.Units[name] = u
	if was := m.State.units[name]; was != nil && v.misses(was, objects) {
		u.keep = true
		return
	}
	u.objects, u.Files = objects, m.render(name, objects)
	u.Gone = len(u.Files) == 0
}

// immutable tells whether a unit asks for other volumes than the StatefulSets on the branch
// have, or for other selectors.
func (m *Model) immutable(unit string, v view) bool {
	was := m.State.units[unit]
	moved := was.storage != v.agent.Storage
	for name := range m.render(unit, v.objects()) {
		if _, there := m.Before[unit+"/"+name]; !there || !was.files[name] {
			continue // what was removed by hand is replaced
		}
		if moved && strings.HasSuffix(name, ".statefulset.yaml") || was.label != m.Label && isWorkload(name) {
			return true
		}
	}
	return false
}

func isWorkload(file string) bool {
	return strings.HasSuffix(file, ".statefulset.yaml") || strings.HasSuffix(file, ".deployment.yaml")
}

// lastOf are the versions that a unit was last rendered from.
func (m *Model) lastOf(unit string) last {
	f := m.State.units[unit]
	return func(id manifest.ID) (Doc, bool, bool) {
		if f == nil {
			return Doc{}, false, false
		}
		d, had := f.inputs[id]
		return d, d != Doc{}, had
	}
}

// collide finds objects that two units, or a unit and the inputs, would both own.
func (m *Model) collide(v *Verdict, all docs) {
	owners := map[string][]string{}
	for name, u := range v.Units {
		ns, _, _ := strings.Cut(name, "/")
		for file := range u.Files {
			if strings.HasSuffix(file, ".yaml") && file != "kustomization.yaml" {
				owners[ns+"/"+file] = append(owners[ns+"/"+file], name)
			}
		}
	}
	failed := map[string]bool{}
	for object, units := range owners {
		ns, file, _ := strings.Cut(object, "/")
		_, taken := all[manifest.ID{Kind: "Secret", Namespace: ns, Name: strings.TrimSuffix(file, ".secret.yaml")}]
		taken = taken && strings.HasSuffix(file, ".secret.yaml")
		for _, name := range units {
			was := m.State.units[name]
			owns := was != nil && was.files[file]
			failed[name] = failed[name] || (len(units) > 1 || taken) && !owns
		}
	}
	for name := range failed {
		if u := v.Units[name]; failed[name] {
			u.keep, u.Files, u.Gone = true, nil, m.State.units[name] == nil
		}
	}
}
