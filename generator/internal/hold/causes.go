package hold

import (
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// heldObjects are the objects that are not rendered as they are in the set.
type heldObjects map[manifest.ID]Held

// replace holds the objects that caused the errors.
func (r *run[T]) replace(c choice, errors diag.List) choice {
	held := maps.Clone(c.held)
	fresh := map[manifest.ID]bool{} // the Secrets and ConfigMaps that are held for one of these errors
	for _, d := range errors {
		if slices.ContainsFunc(d.Related, func(o diag.Object) bool { return fresh[manifest.IDOf(o)] }) {
			continue // holding it may also remove this error: the next attempt shows that
		}
		sources := r.causesOf(c, held, d)
		for _, id := range sources {
			r.hold(c, held, id, d)
			fresh[id] = true
		}
		if len(sources) == 0 {
			r.hold(c, held, manifest.IDOf(d.Object), d)
		}
	}
	return r.choose(c, held)
}

// causesOf returns the changed Secrets and ConfigMaps that made an object wrong. If the object changed at the
// same time, it returns them only if holding them removes the error.
func (r *run[T]) causesOf(c choice, held heldObjects, d diag.Diagnostic) []manifest.ID {
	var sources []manifest.ID
	var try heldObjects
	for _, o := range d.Related {
		id := manifest.IDOf(o)
		if id.Kind != "Secret" && id.Kind != "ConfigMap" {
			continue
		}
		if last, _ := r.last(id); last != nil && r.changed(c, id) {
			if try == nil { // few errors have a source, and many objects may be held
				try = maps.Clone(held)
			}
			sources = append(sources, id)
			r.hold(c, try, id, d)
		}
	}
	if len(sources) > 0 && r.changed(c, manifest.IDOf(d.Object)) &&
		slices.ContainsFunc(r.attempt(r.choose(c, try)).Diags, d.Same) {
		return nil
	}
	return sources
}

// replaceAround handles errors of objects that did not change, which something around them caused. It tries to hold
// the objects that they refer to, the instances above them, and the GrafanaAgent, and keeps the first choice that
// helps.
func (r *run[T]) replaceAround(c choice, errors diag.List) choice {
	stuck, related, agent := map[manifest.ID]diag.Diagnostic{}, map[manifest.ID]diag.Diagnostic{},
		map[manifest.ID]diag.Diagnostic{}
	for _, d := range errors {
		stuck[manifest.IDOf(d.Object)] = d
		agent[r.Hierarchy.Agent.ID] = d
		for _, o := range d.Related {
			related[manifest.IDOf(o)] = d
		}
	}
	above := above(c.hierarchy, stuck)
	both := maps.Clone(above)
	maps.Copy(both, agent)
	for _, candidates := range [...]map[manifest.ID]diag.Diagnostic{related, above, agent, both} {
		held := maps.Clone(c.held)
		for id, d := range candidates {
			r.hold(c, held, id, d)
		}
		try := r.choose(c, held)
		if try.same(c) || r.hopeless(try) {
			continue
		}
		isStuck := func(d diag.Diagnostic) bool { _, is := stuck[manifest.IDOf(d.Object)]; return is }
		if !slices.ContainsFunc(onlyErrors(r.attempt(try).Diags), isStuck) {
			return try
		}
	}
	return c
}

// above returns the instances that select one of the objects.
func above(h *hierarchy.Hierarchy, objects map[manifest.ID]diag.Diagnostic) map[manifest.ID]diag.Diagnostic {
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
	for _, m := range h.Metrics {
		look(m.Object, m.ServiceMonitors, m.PodMonitors, m.Probes, m.ScrapeConfigs, m.IntegrationMonitors)
	}
	for _, l := range h.Logs {
		look(l.Object, l.PodLogs)
	}
	return out
}

// hold adds an object with its stand-in, or as left out if it is new. It does not hold an object that is equal to its
// last good version, because that cannot cause an error. It does not hold one whose last good version cannot be read
// either, because it must not disappear.
func (r *run[T]) hold(c choice, held heldObjects, id manifest.ID, reason diag.Diagnostic) {
	if _, done := held[id]; done {
		return
	}
	now := c.set.Get(id)
	last, had := r.last(id)
	switch {
	case had && last == nil, now == nil && !had:
		return
	case had && now != nil && now.Digest == last.Digest:
		return
	}
	held[id] = Held{ID: id, Object: now, StandIn: last, Reason: reason}
}

// changed reports whether an object differs from its last good version.
func (r *run[T]) changed(c choice, id manifest.ID) bool {
	now := c.set.Get(id)
	last, _ := r.last(id)
	return now == nil || last == nil || now.Digest != last.Digest
}

func (r *run[T]) last(id manifest.ID) (*manifest.Object, bool) {
	if r.LastGood == nil {
		return nil, false
	}
	r.usedLastGood = true
	return r.LastGood(id)
}

// choose returns the choice with these objects held. It returns c if c holds them all.
func (r *run[T]) choose(c choice, held heldObjects) choice {
	if len(held) == len(c.held) {
		return c
	}
	next := choice{held: held, set: r.Set, leftOut: map[manifest.ID]bool{}}
	standIns := map[manifest.ID]*manifest.Object{}
	for id, h := range held {
		if h.StandIn != nil {
			standIns[id] = h.StandIn
		} else {
			next.leftOut[id] = true
		}
	}
	h := *r.Hierarchy
	if len(standIns) > 0 {
		next.set = r.Set.With(standIns)
		h = *hierarchy.Of(next.set, next.set.Get(r.Hierarchy.Agent.ID))
		h.Diags = append(onlyErrors(h.Diags), onlyWarnings(r.Hierarchy.Diags)...)
	}
	h.Diags = slices.DeleteFunc(slices.Clone(h.Diags), func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && next.leftOut[manifest.IDOf(d.Object)]
	})
	next.hierarchy = &h
	return next
}

func onlyErrors(list diag.List) diag.List   { return only(list, true) }
func onlyWarnings(list diag.List) diag.List { return only(list, false) }

// only returns the errors of a list, or all other diagnostics.
func only(list diag.List, errors bool) diag.List {
	var out diag.List
	for _, d := range list {
		if (d.Severity == diag.Error) == errors {
			out = append(out, d)
		}
	}
	return out
}
