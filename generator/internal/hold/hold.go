// Package hold renders one hierarchy so that a wrong object affects nothing else.
//
// [Run] renders, and replaces each object that caused an error by its last good version, from which the unit was last
// rendered. An object without one is left out. It renders again until there are no errors, or nothing is left to
// replace: then the unit fails, and its folder on the output branch stays as it is.
//
// The package knows nothing of agents or Kubernetes. The caller's functions render a hierarchy and return last good
// versions.
package hold

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
	// Object is the object in the set. It is nil if it was removed but is still referred to.
	Object *manifest.Object
	// StandIn is rendered in its place. It is nil if the object is left out.
	StandIn *manifest.Object
	// Reason is the error for which it is held.
	Reason diag.Diagnostic
}

// Attempt is the result of one attempt to render a hierarchy.
type Attempt[T any] struct {
	// Result must not be used if Diags has errors.
	Result T
	Diags  diag.List
	// Dependencies are the objects that were looked up by name, with nil for those that were not found.
	Dependencies map[manifest.ID]*manifest.Object
}

// Input is the hierarchy to render, and the functions that render it.
type Input[T any] struct {
	Hierarchy *hierarchy.Hierarchy
	// Set is the set that the hierarchy was built from.
	Set *manifest.Set
	// LastGood returns the version of an object from which the unit was last rendered, and whether there was one. The
	// object is nil if its text can no longer be read. If the function is nil, there are no versions.
	LastGood func(manifest.ID) (o *manifest.Object, had bool)
	// Render renders a hierarchy of a set. Objects that are left out must have no effect. They are still in the
	// hierarchy and the set, so that references to them are not errors.
	Render func(h *hierarchy.Hierarchy, set *manifest.Set, leftOut map[manifest.ID]bool) Attempt[T]
}

// Outcome is a rendering without errors, or a failure.
type Outcome[T any] struct {
	// Failed means that there is no rendering: Result is the zero value, and nothing is held.
	Failed bool
	Result T
	// Hierarchy is the rendered hierarchy, with the stand-ins.
	Hierarchy *hierarchy.Hierarchy
	// Held is sorted by ID.
	Held []Held
	// Diags are to be reported: each error once, at the object that caused it.
	Diags diag.List
	// Inputs are the objects that the result was rendered from. They may repeat.
	Inputs []manifest.ID
	// Dependencies are the dependencies of all attempts.
	Dependencies map[manifest.ID]*manifest.Object
	// UsedLastGood is true if the outcome depends on last good versions.
	UsedLastGood bool
}

// Run renders a hierarchy, and holds objects that cause errors.
func Run[T any](in Input[T]) Outcome[T] {
	r := &run[T]{Input: in, dependencies: map[manifest.ID]*manifest.Object{}, noted: map[diag.Identity]bool{}}
	now := choice{held: heldObjects{}, set: in.Set, hierarchy: in.Hierarchy}
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

// run is one call of [Run]: its input, and what it collects from all attempts.
type run[T any] struct {
	Input[T]
	dependencies map[manifest.ID]*manifest.Object
	errors       diag.List              // to be reported
	noted        map[diag.Identity]bool // the same
	usedLastGood bool
}

// choice is a choice of the versions to render. It is immutable.
type choice struct {
	held      heldObjects
	set       *manifest.Set // with the stand-ins
	hierarchy *hierarchy.Hierarchy
	leftOut   map[manifest.ID]bool
}

// same reports whether a choice that was derived from before holds nothing more.
func (c choice) same(before choice) bool { return len(c.held) == len(before.held) }

func (r *run[T]) attempt(c choice) Attempt[T] {
	a := r.Render(c.hierarchy, c.set, c.leftOut)
	maps.Copy(r.dependencies, a.Dependencies)
	return a
}

// note keeps errors to be reported, except those of stand-ins, whose text is not in the inputs.
func (r *run[T]) note(errors diag.List, c choice) {
	for _, d := range errors {
		if c.held[manifest.IDOf(d.Object)].StandIn != nil || r.noted[d.Identity()] {
			continue
		}
		r.noted[d.Identity()] = true
		r.errors = append(r.errors, d)
	}
}

// rendered returns the outcome of an attempt without errors.
func (r *run[T]) rendered(a Attempt[T], c choice) Outcome[T] {
	out := Outcome[T]{
		Result: a.Result, Hierarchy: c.hierarchy, Dependencies: r.dependencies, UsedLastGood: r.usedLastGood,
		Held:  slices.SortedFunc(maps.Values(c.held), func(a, b Held) int { return a.ID.Compare(b.ID) }),
		Diags: attribute(r.errors, c.held),
	}
	for _, d := range a.Diags {
		if c.held[manifest.IDOf(d.Object)].StandIn == nil {
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

// effective returns the hierarchy without the objects below instances that are left out.
func (c choice) effective() *hierarchy.Hierarchy {
	h := *c.hierarchy
	h.Metrics = slices.DeleteFunc(slices.Clone(h.Metrics), func(m *hierarchy.MetricsInstance) bool {
		return c.leftOut[m.Object.ID]
	})
	h.Logs = slices.DeleteFunc(slices.Clone(h.Logs), func(l *hierarchy.LogsInstance) bool {
		return c.leftOut[l.Object.ID]
	})
	return &h
}

// failed returns a failed outcome. The last errors can be about stand-ins if a new version of agentry or of the
// pipeline refuses what an older one accepted.
func (r *run[T]) failed(last diag.List, c choice) Outcome[T] {
	for _, d := range last {
		if h := c.held[manifest.IDOf(d.Object)]; h.StandIn != nil {
			d.Path, d.Message = "", "is held, and its last good version is refused as well: "+d.Problem()
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

// hopeless reports whether the GrafanaAgent is left out or its stand-in is paused: the unit is not rendered then.
func (r *run[T]) hopeless(c choice) bool {
	return c.leftOut[r.Hierarchy.Agent.ID] || c.hierarchy.Spec().Paused
}
