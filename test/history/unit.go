package history

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// What follows says when objects are wrong together, and what is rendered then: rule 2 and
// those that refer to it, in words of docs.

type docs map[manifest.ID]Doc

// blame is an error: an object, and the Secrets or other objects without which there would be
// none.
type blame struct {
	id      manifest.ID
	related []manifest.ID
}

// view is what a GrafanaAgent discovers.
type view struct {
	all          docs
	gone         map[manifest.ID]bool // what is left out for an error of its own
	plain        bool
	agent        Doc
	instances    []Doc
	monitors     map[manifest.ID][]Doc // by instance
	integrations []Doc
}

func newView(all docs, gone map[manifest.ID]bool, agent manifest.ID, plain bool) view {
	v := view{all: all, gone: gone, plain: plain, agent: all[agent], monitors: map[manifest.ID][]Doc{}}
	for _, id := range slices.SortedFunc(maps.Keys(all), manifest.ID.Compare) {
		d := all[id]
		switch d.Kind {
		case "MetricsInstance":
			if d.Namespace == v.agent.Namespace && selects(v.agent, d) {
				v.instances = append(v.instances, d)
			}
		case "Integration":
			if slices.Contains(v.agent.spaces(), d.Namespace) {
				v.integrations = append(v.integrations, d)
			}
		}
	}
	for _, i := range v.instances {
		for _, id := range slices.SortedFunc(maps.Keys(all), manifest.ID.Compare) {
			d, space := all[id], all[manifest.ID{Kind: "Namespace", Name: id.Namespace}]
			isNear := i.Wide && space.Team || !i.Wide && d.Namespace == i.Namespace
			if d.Kind == "ServiceMonitor" && selects(i, d) && isNear {
				v.monitors[i.ID()] = append(v.monitors[i.ID()], d)
			}
		}
	}
	return v
}

func selects(parent, child Doc) bool { return parent.Sel == 0 || parent.Sel == child.Tier }

// errors are all that is wrong.
func (v view) errors() []blame {
	var out []blame
	blamed := func(d Doc, related ...manifest.ID) { out = append(out, blame{d.ID(), related}) }
	if v.agent.Fault == Unrendered {
		blamed(v.agent)
	}
	for _, i := range v.instances {
		if i.Fault == Unrendered {
			blamed(i)
		}
		if i.WAL && v.hasSlow(i) && !v.agent.Quick {
			blamed(i, v.agent.ID())
		}
		v.refers(i, "Secret", i.Ref, false, blamed)
		v.jobs(i, blamed)
		for _, m := range v.monitors[i.ID()] {
			if m.Fault == Unrendered {
				blamed(m)
			}
			if m.Slow && v.agent.Quick {
				blamed(m, v.agent.ID())
			}
			if m.Rare && !m.Slow && i.WAL {
				blamed(m, i.ID())
			}
			v.refers(m, "Secret", m.Ref, false, blamed)
			v.refers(m, "ConfigMap", m.CA, true, blamed)
		}
	}
	for n, d := range v.integrations {
		if d.Fault == Unrendered {
			blamed(d)
		}
		if inst := (manifest.ID{Kind: "MetricsInstance", Namespace: d.Namespace,
			Name: strings.TrimPrefix(d.Inst, d.Namespace+"/")}); d.Inst != "" && !v.has(inst) {
			blamed(d, v.agent.ID(), inst)
		}
		v.refers(d, "Secret", d.Ref, true, blamed)
		for _, other := range v.integrations[:n] {
			if d.Addr == other.Addr || d.Unique && other.Unique {
				blamed(d, other.ID())
				blamed(other, d.ID())
			}
		}
	}
	return out
}

// hasSlow tells whether an instance has a job without an interval.
func (v view) hasSlow(i Doc) bool {
	return slices.ContainsFunc(v.monitors[i.ID()], func(m Doc) bool { return m.Slow })
}

func (v view) has(instance manifest.ID) bool {
	return slices.ContainsFunc(v.instances, func(d Doc) bool { return d.ID() == instance })
}

// refers checks a reference to a Secret or a ConfigMap, which is mounted as a file or else
// written into the configuration.
func (v view) refers(d Doc, kind, name string, file bool, blamed func(Doc, ...manifest.ID)) {
	id := manifest.ID{Kind: kind, Namespace: d.Namespace, Name: name}
	target, there := v.all[id]
	switch {
	case name == "":
	case !v.plain && d.Namespace != v.agent.Namespace:
		blamed(d) // pods cannot mount what is in another namespace
	case v.plain && !there, there && target.NoKey, v.plain && there && !file && target.Fault == Unrendered:
		blamed(d, id)
	}
}

// jobs checks the scrape configurations by hand of an instance.
func (v view) jobs(i Doc, blamed func(Doc, ...manifest.ID)) {
	if i.Jobs == "" {
		return
	}
	id := manifest.ID{Kind: "Secret", Namespace: i.Namespace, Name: i.Jobs}
	target, there := v.all[id]
	switch {
	case v.gone[id]: // that is its own fault
	case !there || target.NoKey:
		blamed(i, id)
	case target.Fault == Unrendered:
		blamed(target, i.ID())
	}
}

// objects are what is rendered: the docs below the agent, the Secrets and ConfigMaps that they
// refer to and there are, and their Namespaces.
func (v view) objects() docs {
	out := docs{v.agent.ID(): v.agent}
	take := func(d Doc) {
		out[d.ID()] = d
		for _, ref := range [...]manifest.ID{{Kind: "Secret", Name: d.Ref}, {Kind: "Secret", Name: d.Jobs},
			{Kind: "ConfigMap", Name: d.CA}} {
			ref.Namespace = d.Namespace
			if target, ok := v.all[ref]; ok && ref.Name != "" {
				out[ref] = target
			}
		}
	}
	for _, i := range v.instances {
		take(i)
		for _, m := range v.monitors[i.ID()] {
			take(m)
		}
	}
	for _, d := range v.integrations {
		take(d)
	}
	for id := range maps.Clone(out) {
		space := manifest.ID{Kind: "Namespace", Name: id.Namespace}
		if d, ok := v.all[space]; ok {
			out[space] = d
		}
	}
	return out
}

// last is the version of an object that a unit was last rendered from.
type last func(id manifest.ID) (d Doc, known, had bool)

// unitResult is the expected state of a unit.
type unitResult struct {
	keep    bool // its folder stays, for an error
	paused  bool // its folder stays, as its agent wants it
	view    view
	held    map[manifest.ID]bool // what is not rendered as it is: as its stand-in, or not at all
	blamed  map[manifest.ID]bool // what errors blame that could not be put right
	replace docs                 // the stand-ins
}

// unitModel renders a unit, again and again, until stand-ins replace all objects that are to blame for an error.
type unitModel struct {
	unitResult
	agent manifest.ID
	all   docs
	last  last
	plain bool
	left  map[manifest.ID]bool
}

// newUnitModel begins with all objects, without those that are left out for an error.
func newUnitModel(agent manifest.ID, all docs, left map[manifest.ID]bool, last last, plain bool) *unitModel {
	j := &unitModel{agent: agent, all: all, last: last, plain: plain, left: maps.Clone(left)}
	j.held, j.replace = map[manifest.ID]bool{}, docs{}
	j.build()
	return j
}

// build looks at what there is now.
func (j *unitModel) build() {
	all := maps.Clone(j.all)
	maps.Copy(all, j.replace)
	for id := range j.left {
		delete(all, id)
	}
	j.view = newView(all, j.left, j.agent, j.plain)
}

// run renders the unit with these errors besides its own.
func (j *unitModel) run(errors ...blame) unitResult {
	if j.all[j.agent].Paused {
		j.paused = true
		return j.unitResult
	}
	for {
		if len(errors) == 0 {
			errors = j.view.errors()
		}
		if len(errors) == 0 {
			return j.unitResult
		}
		if !j.blame(errors) && !j.around(errors) || j.left[j.agent] || j.view.agent.Paused {
			j.keep, j.blamed = true, map[manifest.ID]bool{}
			for _, e := range errors {
				j.blamed[e.id] = true
			}
			return j.unitResult
		}
		errors = nil
	}
}

// blame holds what errors blame, and reports whether that made a difference.
func (j *unitModel) blame(errors []blame) bool {
	changed := false
	for _, e := range errors {
		if from := j.from(e); len(from) > 0 {
			for _, id := range from {
				changed = j.hold(id) || changed
			}
		} else {
			changed = j.hold(e.id) || changed
		}
	}
	j.build()
	return changed
}

// from are the Secrets and ConfigMaps to blame for the error of an object that refers to them:
// those that changed, if it did not, or if it is right with what they were.
func (j *unitModel) from(e blame) []manifest.ID {
	try := j.clone()
	var out []manifest.ID
	for _, id := range e.related {
		if _, known, _ := j.last(id); known && (id.Kind == "Secret" || id.Kind == "ConfigMap") && j.changed(id) {
			out = append(out, id)
			try.hold(id)
		}
	}
	try.build()
	same := func(other blame) bool { return other.id == e.id && slices.Equal(other.related, e.related) }
	if j.changed(e.id) && slices.ContainsFunc(try.view.errors(), same) {
		return nil
	}
	return out
}

// changed tells whether an object is another than the one that the unit was last rendered from.
func (j *unitModel) changed(id manifest.ID) bool {
	now, there := j.view.all[id]
	d, known, _ := j.last(id)
	return !there || !known || d != now
}

// clone is for an attempt.
func (j *unitModel) clone() *unitModel {
	try := *j
	try.held, try.replace, try.left = maps.Clone(j.held), maps.Clone(j.replace), maps.Clone(j.left)
	return &try
}

// hold puts the last version in place of an object, or leaves it out if there is none.
func (j *unitModel) hold(id manifest.ID) bool {
	_, held := j.held[id]
	now, there := j.all[id]
	d, known, had := j.last(id)
	switch {
	case held, had && !known, !had && !there, had && there && d == now:
		return false
	case had:
		j.held[id], j.replace[id] = true, d
	default:
		j.held[id], j.left[id] = false, true
	}
	return true
}

// around is for errors of objects that did not change: something around them did.
func (j *unitModel) around(errors []blame) bool {
	stuck := map[manifest.ID]bool{}
	var related, above []manifest.ID
	for _, e := range errors {
		stuck[e.id] = true
		related = append(related, e.related...)
	}
	for _, i := range j.view.instances {
		if slices.ContainsFunc(j.view.monitors[i.ID()], func(m Doc) bool { return stuck[m.ID()] }) {
			above = append(above, i.ID())
		}
	}
	for _, candidates := range [][]manifest.ID{related, above, {j.agent}, append(slices.Clone(above), j.agent)} {
		try := j.clone()
		changed := false
		for _, id := range candidates {
			changed = try.hold(id) || changed
		}
		if !changed {
			continue
		}
		if try.build(); try.left[j.agent] || try.view.agent.Paused {
			continue
		}
		if !slices.ContainsFunc(try.view.errors(), func(e blame) bool { return stuck[e.id] }) {
			*j = *try
			return true
		}
	}
	return false
}
