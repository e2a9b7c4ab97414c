package explain

import (
	"cmp"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Explanation says why one object is rendered as it is, or is not.
type Explanation struct {
	Object Object `json:"object"`
	State  State  `json:"state"`
	// Why says why it is held, left out, paused or not rendered, as far as that is not in what follows.
	Why string `json:"why,omitempty"`
	// SelectedBy are the ways from a GrafanaAgent, or from an instance that no GrafanaAgent selects, to the object.
	SelectedBy []Chain `json:"selectedBy,omitempty"`
	// Misses are the selectors that do not choose it, nearest first. MoreMisses are not listed.
	Misses     []Miss `json:"notSelectedBy,omitempty"`
	MoreMisses int    `json:"moreNotSelectedBy,omitempty"`
	// Renders is what it makes of each unit that has it.
	Renders []Rendering `json:"rendersTo,omitempty"`
	// Selects is what its own selectors choose.
	Selects []Selection `json:"selects,omitempty"`
	// Size is how much configuration it renders to, with all that it selects.
	Size *Size `json:"size,omitempty"`
	// Uses are the keys of Secrets and ConfigMaps that its fields name, and UsedBy the fields that name it.
	Uses   []Use `json:"uses,omitempty"`
	UsedBy []Use `json:"usedBy,omitempty"`
	// Findings are the diagnostics about it.
	Findings []diag.JSONDiagnostic `json:"findings,omitempty"`
}

// List is several explanations, as JSON has them.
type List struct {
	Items []*Explanation `json:"items"`
}

// State is what becomes of an object.
type State string

// The states of an object.
const (
	Rendered    State = "rendered"
	NotSelected State = "not selected"
	LeftOut     State = "left out"     // because of an error
	Held        State = "held"         // its last good version is rendered
	Paused      State = "paused"       // its unit keeps its folder
	NotRendered State = "not rendered" // its unit cannot be rendered
	Used        State = "used"         // a Secret, ConfigMap or Namespace that something refers to
	Unused      State = "not used"
)

// Chain leads from the top to an object.
type Chain struct {
	Steps []Step `json:"steps"`
	// Ends says that no GrafanaAgent selects the first of the steps, which is an instance; Misses are the nearest.
	Ends   bool   `json:"ends,omitempty"`
	Misses []Miss `json:"notSelectedBy,omitempty"`
}

// Step is one selector that chooses an object.
type Step struct {
	By    Object `json:"by"`
	Field Field  `json:"field"`
	// Selects is what it chooses: the next step's object, or the one that is explained.
	Selects Object `json:"selects"`
	// Wants are the requirements and the labels that meet them; none if it chooses everything.
	Wants []Want `json:"wants,omitempty"`
	// Namespaces says in which namespaces it looks.
	Namespaces string `json:"namespaces"`
	// NamespaceWants are the requirements of the namespace's labels.
	NamespaceWants []Want `json:"namespaceWants,omitempty"`
}

// maxMisses is how many misses are listed.
const maxMisses = 5

// Explain explains an object. It returns false if there is none of the name.
func (w *World) Explain(id manifest.ID) (*Explanation, bool) {
	o := w.byID[id]
	if o == nil {
		return w.named(id)
	}
	e := &Explanation{Object: w.describe(o)}
	e.State, e.Why = w.stateOf(o)
	if isReferred(o.Kind) {
		e.UsedBy = w.usersOf(o)
	} else {
		e.SelectedBy = w.chains(o)
		e.Misses, e.MoreMisses = w.misses(o)
	}
	e.Renders = w.renderings(o)
	if e.State == Rendered && len(e.Renders) == 0 && o.Kind != "GrafanaAgent" {
		e.State, e.Why = w.withoutJob(o)
	}
	e.Selects = w.selections(o)
	e.Size = w.sizeOf(o)
	e.Uses = w.uses(o)
	if found := w.findings(id); len(found) > 0 {
		e.Findings = diag.NewJSON(found)
	}
	return e, true
}

// named explains an object of which only the name is known: a Secret that is encrypted, or one that fields name and the
// inputs do not have.
func (w *World) named(id manifest.ID) (*Explanation, bool) {
	_, isKnown := w.render.Set.Named()[id]
	e := &Explanation{Object: Object{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}, State: Unused, UsedBy: w.allUsers()[id]}
	if len(e.UsedBy) > 0 {
		e.State = Used
	}
	if !isKnown {
		e.Why = "it is not in the inputs"
	}
	return e, isKnown || len(e.UsedBy) > 0
}

// stateOf says what becomes of an object.
func (w *World) stateOf(o *manifest.Object) (State, string) {
	in := w.inUnits[o.ID]
	for _, u := range in {
		if h, ok := u.held[o.ID]; ok && h.StandIn == nil {
			return LeftOut, w.problem(h.Reason)
		} else if ok {
			return Held, w.problem(h.Reason)
		}
	}
	switch {
	case w.render.Set.Get(o.ID) == nil && w.render.Set.IsLeftOut(o.ID) && len(in) == 0:
		return LeftOut, w.errorOf(o)
	case isReferred(o.Kind):
		if len(w.usersOf(o)) > 0 {
			return Used, ""
		}
		return Unused, ""
	case len(in) == 0 && o.Kind == "GrafanaAgent" && !w.isRun(o):
		return NotSelected, "its labels do not match the agent selector " + plainly(w.render.AgentSelector)
	case len(in) == 0:
		return NotSelected, ""
	}
	for _, u := range in {
		if !u.Paused && !u.Failed {
			return Rendered, ""
		}
	}
	if in[0].Paused {
		return Paused, "GrafanaAgent " + in[0].Name + " is paused: its folder stays as it is"
	}
	return NotRendered, "GrafanaAgent " + in[0].Name + " cannot be rendered because of an error: its folder stays as it is"
}

// withoutJob says why an object of units that are rendered renders to nothing.
func (w *World) withoutJob(o *manifest.Object) (State, string) {
	for _, u := range w.inUnits[o.ID] {
		for _, p := range w.parents[o.Kind] {
			if h, ok := u.held[p.object.ID]; ok && h.StandIn == nil && w.selects(p, o) {
				return NotRendered, p.object.ID.String() + ", which selects it, is left out"
			}
		}
	}
	return Rendered, "it makes no job"
}

// errorOf returns the error for which an object is left out of the set.
func (w *inputs) errorOf(o *manifest.Object) string {
	for _, d := range w.findings(o.ID) {
		if d.Severity == diag.Error {
			return d.String()
		}
	}
	return "it has an error, which agentry check shows"
}

// findings returns what was found about an object.
func (w *inputs) findings(id manifest.ID) diag.List {
	return w.found[diag.Object{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}]
}

// problem returns what is wrong, and where.
func (w *inputs) problem(d diag.Diagnostic) string {
	d.File = w.show(d.File)
	return d.String()
}

// isReferred reports whether objects of a kind are used by their names, and never selected.
func isReferred(kind string) bool {
	return kind == "Secret" || kind == "ConfigMap" || kind == "Namespace"
}

// chains returns the ways to an object.
func (w *judge) chains(o *manifest.Object) (out []Chain) {
	for _, p := range w.parents[o.Kind] {
		if !w.selects(p, o) {
			continue
		}
		step := w.step(p, o)
		if p.object.Kind == "GrafanaAgent" {
			if w.isRun(p.object) {
				out = append(out, Chain{Steps: []Step{step}})
			}
			continue
		}
		above := w.chains(p.object)
		for _, c := range above {
			out = append(out, Chain{Steps: append(slices.Clone(c.Steps), step)})
		}
		if len(above) == 0 {
			misses, _ := w.misses(p.object)
			out = append(out, Chain{Steps: []Step{step}, Ends: true, Misses: misses[:min(1, len(misses))]})
		}
	}
	slices.SortStableFunc(out, func(a, b Chain) int { return cmp.Compare(a.rank(), b.rank()) })
	return out
}

// rank orders the ways: those that begin at a GrafanaAgent first.
func (c Chain) rank() int {
	if c.Ends {
		return 1
	}
	return 0
}

func (w *judge) step(p parent, o *manifest.Object) Step {
	c := p.of(o.Kind)
	s := Step{By: w.describe(p.object), Field: w.field(p.object, c.Path), Selects: w.describe(o), Wants: wantsOf(c.selector, o.Meta.Labels)}
	s.Namespaces = w.where(p, c)
	if c.namespaces != nil {
		s.NamespaceWants = wantsOf(c.namespaces, w.labelsOf(o.Namespace))
	}
	return s
}

// where says in which namespaces a choice looks.
func (w *judge) where(p parent, c *choice) string {
	switch {
	case c.NamespaceSelector == nil:
		return "only its own namespace, " + p.object.Namespace
	case c.namespaces == nil || c.namespaces.Empty():
		return "all namespaces"
	}
	return "namespaces with " + plainly(c.namespaces)
}

// misses returns the parents that do not select an object, nearest first, and how many are not listed.
func (w *judge) misses(o *manifest.Object) (out []Miss, more int) {
	near := nearest[parent]{limit: maxMisses}
	for _, p := range w.parents[o.Kind] {
		if p.object.Kind == "GrafanaAgent" && !w.isRun(p.object) || w.selects(p, o) {
			continue
		}
		near.add(w.distance(p, p.of(o.Kind), o), p)
	}
	for _, p := range near.list() {
		out = append(out, w.miss(p, p.of(o.Kind), o))
	}
	return out, near.seen - len(out)
}

// nearest keeps the nearest of many candidates: of equally near ones, those that were added first.
type nearest[T any] struct {
	limit, seen int
	kept        []candidate[T]
}

type candidate[T any] struct {
	distance int
	value    T
}

func (n *nearest[T]) add(distance int, value T) {
	n.seen++
	if len(n.kept) == n.limit && n.kept[n.limit-1].distance <= distance {
		return
	}
	at, _ := slices.BinarySearchFunc(n.kept, distance, func(c candidate[T], d int) int {
		if c.distance <= d {
			return -1
		}
		return 1
	})
	n.kept = slices.Insert(n.kept, at, candidate[T]{distance, value})
	n.kept = n.kept[:min(len(n.kept), n.limit)]
}

func (n *nearest[T]) list() (out []T) {
	for _, c := range n.kept {
		out = append(out, c.value)
	}
	return out
}
