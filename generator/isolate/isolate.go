// Package isolate renders one hierarchy so that a wrong object harms nothing but itself.
//
// [Run] renders, looks at the errors, and replaces each object to blame by its last good
// version: the one from which the unit was last rendered. An object that has none is left
// out. It renders again until there are no errors, or until nothing is left to replace:
// then the unit fails, and what the output branch has of it stays.
//
// The package knows nothing of agents or Kubernetes. How a hierarchy is rendered, and what
// the last good versions are, are functions that the caller hands in.
package isolate

import (
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Held is an object that is not rendered as it is in the set.
type Held struct {
	manifest.ID
	// Object is what is in the set; nil when the object is gone but still referred to.
	Object *manifest.Object
	// StandIn is rendered in its place; nil when the object is left out.
	StandIn *manifest.Object
	// Reason is the error for which it is held.
	Reason diag.Diagnostic
}

// Attempt is what one attempt to render a hierarchy gave.
type Attempt[T any] struct {
	// Result must not be used if Diags has errors.
	Result T
	Diags  diag.List
	// Dependencies are the objects that were looked up by name; nil for what was not found.
	Dependencies map[manifest.ID]*manifest.Object
}

// Input is what is rendered, and how.
type Input[T any] struct {
	Hierarchy *hierarchy.Hierarchy
	// Set is where the hierarchy comes from.
	Set *manifest.Set
	// LastGood returns the version of an object from which the unit was last rendered. had is
	// whether there was one; the object is nil if there was one and its text is lost. A nil
	// function knows no versions.
	LastGood func(manifest.ID) (o *manifest.Object, had bool)
	// Render renders a hierarchy of a set. Objects that are left out must have no effect. They
	// are still in the hierarchy and the set, so that references to them are not errors.
	Render func(h *hierarchy.Hierarchy, set *manifest.Set, leftOut map[manifest.ID]bool) Attempt[T]
}

// Outcome is the rendering without errors, or none.
type Outcome[T any] struct {
	// Failed is set when there is none: Result is the zero value, and nothing is held.
	Failed bool
	Result T
	// Hierarchy is what was rendered, with stand-ins in their places.
	Hierarchy *hierarchy.Hierarchy
	// Held is sorted by ID.
	Held []Held
	// Diags are to be reported: each error once, at the object that brought it in.
	Diags diag.List
	// Inputs are the objects that the result comes from. They may repeat.
	Inputs []manifest.ID
	// Dependencies are those of all attempts.
	Dependencies map[manifest.ID]*manifest.Object
	// UsedLastGood is set when the outcome depends on last good versions.
	UsedLastGood bool
}

// Run renders a hierarchy. What errors are to blame for is held; those given were found in
// an earlier outcome.
func Run[T any](in Input[T], given diag.List) Outcome[T] {
	r := &run[T]{Input: in, dependencies: map[manifest.ID]*manifest.Object{}}
	now := choice{held: heldObjects{}, set: in.Set, hierarchy: in.Hierarchy}
	r.note(given, now)
	if len(given) > 0 {
		next := r.replace(now, given)
		if next.same(now) || r.hopeless(next) {
			return r.failed(nil, next)
		}
		now = next
	}
	for {
		attempt := r.attempt(now)
		errors := onlyErrors(attempt.Diags)
		r.note(errors, now)
		if len(errors) == 0 {
			return r.rendered(attempt, now)
		}
		next := r.replace(now, errors)
		if next.same(now) {
			next = r.replaceAround(now, errors)
		}
		if next.same(now) || r.hopeless(next) {
			return r.failed(errors, next)
		}
		now = next
	}
}

// run is one call of [Run]: its input, and what it gathers from all attempts.
type run[T any] struct {
	Input[T]
	dependencies map[manifest.ID]*manifest.Object
	errors       diag.List // to be reported
	usedLastGood bool
}

// choice is a choice of the versions to render. It is never changed.
type choice struct {
	held      heldObjects
	set       *manifest.Set // with the stand-ins
	hierarchy *hierarchy.Hierarchy
	leftOut   map[manifest.ID]bool
}

// same reports whether a choice that was derived from another holds nothing more.
func (c choice) same(before choice) bool { return len(c.held) == len(before.held) }

func (r *run[T]) attempt(c choice) Attempt[T] {
	a := r.Render(c.hierarchy, c.set, c.leftOut)
	maps.Copy(r.dependencies, a.Dependencies)
	return a
}

// note keeps errors to be reported, except for those of stand-ins: their text is not in the
// inputs.
func (r *run[T]) note(errors diag.List, c choice) {
	for _, d := range errors {
		if c.held[objectID(d)].StandIn == nil && !slices.ContainsFunc(r.errors, d.Same) {
			r.errors = append(r.errors, d)
		}
	}
}

// rendered is the outcome of an attempt without errors.
func (r *run[T]) rendered(a Attempt[T], c choice) Outcome[T] {
	out := Outcome[T]{
		Result: a.Result, Hierarchy: c.hierarchy, Dependencies: r.dependencies, UsedLastGood: r.usedLastGood,
		Held:  slices.SortedFunc(maps.Values(c.held), func(a, b Held) int { return a.ID.Compare(b.ID) }),
		Diags: attribute(r.errors, c.held),
	}
	for _, d := range a.Diags {
		if c.held[objectID(d)].StandIn == nil {
			out.Diags = append(out.Diags, d)
		}
	}
	use := func(o *manifest.Object) bool {
		if !c.leftOut[o.ID] {
			out.Inputs = append(out.Inputs, o.ID)
		}
		return true
	}
	c.effective().Objects(use)
	for _, o := range a.Dependencies {
		if o != nil {
			use(o)
		}
	}
	return out
}

// effective is the hierarchy without what is below instances that are left out.
func (c choice) effective() *hierarchy.Hierarchy {
	h := *c.hierarchy
	h.Metrics = slices.DeleteFunc(slices.Clone(h.Metrics), func(m *hierarchy.MetricsInstance) bool { return c.leftOut[m.Object.ID] })
	h.Logs = slices.DeleteFunc(slices.Clone(h.Logs), func(l *hierarchy.LogsInstance) bool { return c.leftOut[l.Object.ID] })
	return &h
}

// failed gives the unit up. The last errors may be about stand-ins, when a new version of
// agentry or of the pipeline refuses what an older one took.
func (r *run[T]) failed(last diag.List, c choice) Outcome[T] {
	for _, d := range last {
		if h := c.held[objectID(d)]; h.StandIn != nil {
			d.Message = "is held, and what it was before is refused as well: " + d.Message
			d.Source, d.File, d.Line, d.Column = h.Reason.Source, h.Reason.File, h.Reason.Line, h.Reason.Column
			r.errors = append(r.errors, d)
		}
	}
	out := Outcome[T]{
		Failed: true, Hierarchy: r.Hierarchy, Dependencies: r.dependencies, UsedLastGood: r.usedLastGood,
		Diags: append(r.errors, onlyWarnings(r.Hierarchy.Diags)...),
	}
	r.Hierarchy.Objects(func(o *manifest.Object) bool {
		out.Inputs = append(out.Inputs, o.ID)
		return true
	})
	return out
}

// hopeless reports whether the GrafanaAgent is left out, or its stand-in is paused and so
// wants the unit left alone.
func (r *run[T]) hopeless(c choice) bool {
	return c.leftOut[r.Hierarchy.Agent.ID] || c.hierarchy.Spec().Paused
}
