package generator

import (
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// LastGood is what units were last rendered from and to: what is rendered in place of objects that
// are wrong today. It is asked about nothing else, so that good inputs cost no history. It
// must be safe for concurrent use, and give the same answers throughout a render.
type LastGood interface {
	// Last returns the version of an object that a unit (namespace/name) was last rendered
	// from, its stand-in. had tells that the unit was rendered from it at all; the object is
	// nil when it was, but its text cannot be had any more.
	Last(unit string, id manifest.ID) (o *manifest.Object, had bool)
	// Owns reports whether an object is one of those that a unit was last rendered to.
	Owns(unit string, id manifest.ID) bool
}

// Held is an object that is not rendered as it is in the set.
type Held struct {
	manifest.ID
	// Object is what is in the set; nil when the object is gone but still referred to.
	Object *manifest.Object
	// StandIn is rendered in its place; nil when it is left out.
	StandIn *manifest.Object
	// Reason is the error for which it is held.
	Reason diag.Diagnostic
}

// Refuse holds whatever an error blames that was found in what is rendered for a unit: a field
// that must not change, say. It returns the unit as it is rendered then, which takes the place
// of the other.
func (out *Output) Refuse(unit string, d diag.Diagnostic) *Unit {
	i := slices.IndexFunc(out.Units, func(u *Unit) bool { return u.Name == unit })
	out.Units[i] = out.renderer.unit(out.Hierarchies[i], d)
	out.refused = true
	out.collect()
	return out.Units[i]
}

// holding renders a unit, again and again, until nothing of it is wrong: objects to blame
// for errors are replaced by their stand-ins or left out. What is left out is in the hierarchy
// still, as if it were good and had no effect; a stand-in selects, and is selected, as itself.
type holding struct {
	*renderer
	unit *Unit
	head *hierarchy.Hierarchy // of the objects as they are

	held    map[manifest.ID]Held
	set     *manifest.Set // with the stand-ins
	current *hierarchy.Hierarchy
	left    map[manifest.ID]bool
	looked  map[manifest.ID]*manifest.Object // in all attempts
	errors  diag.List                        // of all attempts
}

func newHolding(r *renderer, u *Unit, h *hierarchy.Hierarchy) *holding {
	return &holding{renderer: r, unit: u, head: h, held: map[manifest.ID]Held{}, set: r.set, current: h,
		left: map[manifest.ID]bool{}, looked: map[manifest.ID]*manifest.Object{}}
}

// run renders the unit.
func (s *holding) run(errors diag.List) {
	s.tell(errors)
	if len(errors) > 0 && (!s.replace(errors) || s.hopeless()) {
		s.fail(nil)
		return
	}
	for {
		r := s.attempt()
		errors := onlyErrors(r.diags)
		s.tell(errors)
		if len(errors) == 0 {
			s.take(r)
			return
		}
		if !s.replace(errors) && !s.replaceAround(errors) || s.hopeless() {
			s.fail(errors)
			return
		}
	}
}

// attempt renders what there is now.
func (s *holding) attempt() rendering {
	r := s.render(s.current, s.set, s.left)
	maps.Copy(s.looked, r.looked)
	return r
}

// tell keeps errors to be reported. What is said about a stand-in is of no use to anybody:
// its text is not in the inputs.
func (s *holding) tell(errors diag.List) {
	for _, d := range errors {
		if s.held[objectID(d)].StandIn == nil && !slices.ContainsFunc(s.errors, d.Same) {
			s.errors = append(s.errors, d)
		}
	}
}

// take makes an attempt without errors the unit's rendering.
func (s *holding) take(r rendering) {
	u := s.unit
	u.Files, u.Hierarchy = files(r.objects), s.current
	u.Held = slices.SortedFunc(maps.Values(s.held), func(a, b Held) int { return a.ID.Compare(b.ID) })
	u.diags = faults(s.errors, s.held)
	for _, d := range r.diags {
		if s.held[objectID(d)].StandIn == nil {
			u.diags = append(u.diags, d)
		}
	}
	u.looked = s.looked
	s.rendered().Objects(func(o *manifest.Object) bool {
		if !s.left[o.ID] {
			u.from(o)
		}
		return true
	})
	for _, o := range r.looked {
		if o != nil && !s.left[o.ID] {
			u.from(o)
		}
	}
}

// rendered is the hierarchy without what is below instances that are left out.
func (s *holding) rendered() *hierarchy.Hierarchy {
	h := *s.current
	h.Metrics = slices.DeleteFunc(slices.Clone(h.Metrics), func(m *hierarchy.MetricsInstance) bool { return s.left[m.Object.ID] })
	h.Logs = slices.DeleteFunc(slices.Clone(h.Logs), func(l *hierarchy.LogsInstance) bool { return s.left[l.Object.ID] })
	return &h
}

// fail gives the unit up: what the output branch has of it stays. Among the last errors may be
// such of stand-ins, which a new version of agentry or of the pipeline does not take any more.
func (s *holding) fail(last diag.List) {
	for _, d := range last {
		if h := s.held[objectID(d)]; h.StandIn != nil {
			d.Message = "is held, and what it was before is refused as well: " + d.Message
			d.Source, d.File, d.Line, d.Column = h.Reason.Source, h.Reason.File, h.Reason.Line, h.Reason.Column
			s.errors = append(s.errors, d)
		}
	}
	s.unit.Failed = true
	s.unit.diags = append(s.errors, onlyWarnings(s.head.Diags)...)
	s.unit.looked = s.looked
	s.head.Objects(func(o *manifest.Object) bool {
		s.unit.from(o)
		return true
	})
}

// hopeless reports whether the GrafanaAgent is left out, or a version of it stands in that
// wants its unit left alone.
func (s *holding) hopeless() bool {
	return s.left[s.head.Agent.ID] || s.current.Spec().Paused
}

// replace holds what errors blame. It reports whether that changed anything.
func (s *holding) replace(errors diag.List) bool {
	before := len(s.held)
	fresh := map[manifest.ID]bool{}
	for _, d := range errors {
		if !s.holdSources(d, fresh) {
			s.hold(objectID(d), d)
		}
	}
	return s.rebuild(before)
}

// holdSources holds the Secrets and ConfigMaps by which an object became wrong that may be
// as it always was, and adds them to the fresh ones of this round. It reports whether there
// are any.
func (s *holding) holdSources(d diag.Diagnostic, fresh map[manifest.ID]bool) bool {
	var sources []manifest.ID
	for _, o := range d.Related {
		if id := idOf(o); isSource(id) {
			if fresh[id] {
				return true // which may have been all: the next round tells
			}
			if last, _ := s.last(id); last != nil && s.changed(id) {
				sources = append(sources, id)
			}
		}
	}
	if len(sources) == 0 {
		return false
	}
	try := s.clone()
	for _, id := range sources {
		try.hold(id, d)
	}
	if s.changed(objectID(d)) && !try.without(d) {
		return false
	}
	s.held = try.held
	for _, id := range sources {
		fresh[id] = true
	}
	return true
}

// changed reports whether an object is another than the unit was last rendered from.
func (s *holding) changed(id manifest.ID) bool {
	now := s.set.Get(id)
	last, _ := s.last(id)
	return now == nil || last == nil || now.Digest != last.Digest
}

// without reports whether an error is gone with what is held for it: when an object and a
// Secret changed at once, either may be to blame.
func (s *holding) without(d diag.Diagnostic) bool {
	s.rebuild(0)
	return !slices.ContainsFunc(s.attempt().diags, d.Same)
}

func isSource(id manifest.ID) bool { return id.Kind == "Secret" || id.Kind == "ConfigMap" }

// hold replaces an object by its stand-in, or leaves it out if it is new. An object that is
// what the unit was last rendered from cannot be the cause of an error, and stays. The caller
// must call rebuild.
func (s *holding) hold(id manifest.ID, reason diag.Diagnostic) bool {
	if _, done := s.held[id]; done {
		return false
	}
	now := s.set.Get(id)
	last, had := s.last(id)
	switch {
	case had && last == nil, now == nil && !had:
		return false
	case had && now != nil && now.Digest == last.Digest:
		return false
	}
	s.held[id] = Held{ID: id, Object: now, StandIn: last, Reason: reason}
	return true
}

func (s *holding) last(id manifest.ID) (*manifest.Object, bool) {
	if s.opts.LastGood == nil {
		return nil, false
	}
	s.unit.relies = true
	return s.opts.LastGood.Last(s.unit.Name, id)
}

// rebuild applies what was held since there were before objects held.
func (s *holding) rebuild(before int) bool {
	if len(s.held) == before {
		return false
	}
	changes := map[manifest.ID]*manifest.Object{}
	for id, h := range s.held {
		if h.StandIn != nil {
			changes[id] = h.StandIn
		} else {
			s.left[id] = true
		}
	}
	h := *s.head
	if len(changes) > 0 {
		s.set = s.renderer.set.With(changes)
		h = *hierarchy.Of(s.set, s.set.Get(s.head.Agent.ID))
		h.Diags = append(onlyErrors(h.Diags), onlyWarnings(s.head.Diags)...)
	}
	h.Diags = slices.DeleteFunc(slices.Clone(h.Diags), func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && s.left[objectID(d)]
	})
	s.current = &h
	return true
}

// replaceAround is for errors of objects that did not change: something around them did. Of
// what they refer to, the instances above them and the GrafanaAgent it holds the first that
// helps.
func (s *holding) replaceAround(errors diag.List) bool {
	stuck := map[manifest.ID]diag.Diagnostic{}
	for _, d := range errors {
		stuck[objectID(d)] = d
	}
	related, above, agent := s.related(errors), s.above(stuck), map[manifest.ID]diag.Diagnostic{}
	for _, d := range errors {
		agent[s.head.Agent.ID] = d
	}
	both := maps.Clone(above)
	maps.Copy(both, agent)
	for _, candidates := range [...]map[manifest.ID]diag.Diagnostic{related, above, agent, both} {
		try := s.clone()
		for id, d := range candidates {
			try.hold(id, d)
		}
		if !try.rebuild(len(s.held)) || try.hopeless() {
			continue
		}
		r := try.attempt()
		if !slices.ContainsFunc(onlyErrors(r.diags), func(d diag.Diagnostic) bool { _, still := stuck[objectID(d)]; return still }) {
			*s = *try
			return true
		}
	}
	return false
}

// related are the objects that errors name beside the one to blame.
func (s *holding) related(errors diag.List) map[manifest.ID]diag.Diagnostic {
	out := map[manifest.ID]diag.Diagnostic{}
	for _, d := range errors {
		for _, o := range d.Related {
			out[idOf(o)] = d
		}
	}
	return out
}

// above are the instances that select one of the objects.
func (s *holding) above(objects map[manifest.ID]diag.Diagnostic) map[manifest.ID]diag.Diagnostic {
	out := map[manifest.ID]diag.Diagnostic{}
	look := func(instance *manifest.Object, below ...[]*manifest.Object) {
		for _, list := range below {
			for _, o := range list {
				if d, ok := objects[o.ID]; ok {
					out[instance.ID] = d
				}
			}
		}
	}
	for _, m := range s.current.Metrics {
		look(m.Object, m.ServiceMonitors, m.PodMonitors, m.Probes, m.IntegrationMonitors)
	}
	for _, l := range s.current.Logs {
		look(l.Object, l.PodLogs)
	}
	return out
}

// clone is for an attempt that may be thrown away. The errors that it finds are not reported,
// what it looked for is kept.
func (s *holding) clone() *holding {
	c := *s
	c.held, c.left = maps.Clone(s.held), maps.Clone(s.left)
	return &c
}

// objectID is the object that an error blames.
func objectID(d diag.Diagnostic) manifest.ID { return idOf(d.Object) }

func onlyErrors(list diag.List) diag.List   { return only(list, true) }
func onlyWarnings(list diag.List) diag.List { return only(list, false) }

// only returns the errors of a list, or all else.
func only(list diag.List, errors bool) diag.List {
	var out diag.List
	for _, d := range list {
		if (d.Severity == diag.Error) == errors {
			out = append(out, d)
		}
	}
	return out
}
