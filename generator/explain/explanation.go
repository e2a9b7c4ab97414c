package explain

import (
	"cmp"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Explanation says why one object is rendered as it is, or is not.
type Explanation struct {
	// RenderedBy is the pipeline, where several have the object.
	RenderedBy string `json:"pipeline,omitempty"`
	Object     Object `json:"object"`
	State      State  `json:"state"`
	// Why says why it is held, left out, paused or not rendered, where the fields below do not say it.
	Why string `json:"why,omitempty"`
	// Runtime is the name of the program that the pods of a GrafanaAgent run.
	Runtime string `json:"runtime,omitempty"`
	// SelectedBy are the chains of selectors that lead to the object: from a GrafanaAgent, or from an instance that no
	// GrafanaAgent selects.
	SelectedBy []Chain `json:"selectedBy,omitempty"`
	// Misses are the selectors that do not choose it, nearest first. MoreMisses counts the others.
	Misses     []Miss `json:"notSelectedBy,omitempty"`
	MoreMisses int    `json:"moreNotSelectedBy,omitempty"`
	// Renders are its parts of each unit that has it.
	Renders []Rendering `json:"rendersTo,omitempty"`
	// Selects lists the objects that its own selectors choose.
	Selects []Selection `json:"selects,omitempty"`
	// Size is how much configuration it renders to, with all that it selects.
	Size *Size `json:"size,omitempty"`
	// Uses are the keys of Secrets and ConfigMaps that its fields name, and UsedBy the fields that name it.
	Uses   []Use `json:"uses,omitempty"`
	UsedBy []Use `json:"usedBy,omitempty"`
	// Findings are the diagnostics about it, without the one that nothing selects it.
	Findings diag.List `json:"findings,omitempty"`
}

// List is the JSON form of several explanations.
type List struct {
	Items []*Explanation `json:"items"`
}

// State is the result of a render for one object.
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

// Chain is the selectors that lead from a GrafanaAgent to an object, in this order.
type Chain struct {
	Steps []Step `json:"steps"`
	// Ends means that the chain begins at an instance that no GrafanaAgent selects. Misses are the nearest then.
	Ends   bool   `json:"ends,omitempty"`
	Misses []Miss `json:"notSelectedBy,omitempty"`
}

// Step is one selector that chooses an object.
type Step struct {
	By    Object `json:"by"`
	Field Field  `json:"field"`
	// Selects is the chosen object: the By of the next step, or the explained object.
	Selects Object `json:"selects"`
	// Wants are the requirements, with the labels that meet them. A selector that chooses everything has none.
	Wants []Requirement `json:"wants,omitempty"`
	// Namespaces says in which namespaces it looks.
	Namespaces string `json:"namespaces"`
	// NamespaceWants are the requirements of the namespace's labels.
	NamespaceWants []Requirement `json:"namespaceWants,omitempty"`
}

// maxMisses is how many misses are listed.
const maxMisses = 5

// Explain explains an object. It returns false if nothing is known of the ID.
func (x *Explainer) Explain(id manifest.ID) (*Explanation, bool) {
	o := x.byID[id]
	if o == nil {
		return x.named(id)
	}
	e := &Explanation{Object: x.describe(o)}
	e.State, e.Why = x.stateOf(o)
	if u := x.units[o.Namespace+"/"+o.Name]; u != nil && o.Kind == "GrafanaAgent" {
		e.Runtime = u.Runtime
	}
	if isReferred(o.Kind) {
		e.UsedBy = x.usersOf(o)
	} else {
		e.SelectedBy = x.chains(o)
		e.Misses, e.MoreMisses = x.misses(o)
	}
	e.Renders = x.renderings(o)
	if e.State == Rendered && len(e.Renders) == 0 && o.Kind != "GrafanaAgent" && !o.IsPassed {
		e.State, e.Why = x.withoutJob(o)
	}
	e.Selects = x.selections(o)
	e.Size = x.sizeOf(o)
	e.Uses = x.uses(o)
	e.Findings = slices.DeleteFunc(slices.Clone(x.findings(id)), func(d diag.Diagnostic) bool {
		return d.Code == diag.Unselected // which Misses say in more words
	})
	return e, true
}

// named explains an object of which only the name is known: an encrypted Secret, or an object that fields refer to and
// that is not in the inputs.
func (x *Explainer) named(id manifest.ID) (*Explanation, bool) {
	_, isKnown := x.render.Set.Named()[id]
	e := &Explanation{Object: Object{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name},
		State: x.stateOfNamed(id), UsedBy: x.allUsers()[id]}
	switch {
	case e.State == LeftOut:
		isKnown = true
		e.Why, e.Findings = x.errorOf(id), x.findings(id)
	case !isKnown:
		e.Why = "it is not in the inputs"
	}
	return e, isKnown || e.State == Used
}

// stateOfNamed returns the state of an object of which only the name is known.
func (x *inputs) stateOfNamed(id manifest.ID) State {
	switch {
	case isRefused(x.findings(id)):
		return LeftOut
	case x.mentioned()[id]:
		return Used
	}
	return Unused
}

// isRefused reports whether a tenant's file defines the object and may not, so that it counts as not defined.
func isRefused(found diag.List) bool {
	return slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
		return d.Code == diag.Tenancy && d.Severity == diag.Error
	})
}

// stateOf returns the state of an object, and the reason as far as there is one.
func (x *Explainer) stateOf(o *manifest.Object) (State, string) {
	in := x.inUnits[o.ID]
	for _, u := range in {
		if h, ok := u.held[o.ID]; ok && h.StandIn == nil {
			return LeftOut, x.problem(h.Reason)
		} else if ok {
			return Held, x.problem(h.Reason)
		}
	}
	if reason, ok := x.render.Held[o.ID]; ok {
		return Held, x.problem(reason)
	}
	switch {
	case x.render.Set.Get(o.ID) == nil && x.render.Set.IsLeftOut(o.ID) && len(in) == 0:
		return LeftOut, x.errorOf(o.ID)
	case isReferred(o.Kind):
		if o.Kind == manifest.NamespaceKind && x.isAskedFor(o.Name) || x.mentioned()[o.ID] {
			return Used, ""
		}
		return Unused, ""
	case o.IsPassed:
		return Rendered, "it is passed through"
	case len(in) == 0 && o.Kind == "GrafanaAgent" && !x.isRun(o):
		return NotSelected, "its labels do not match the agent selector " + selectorText(x.render.AgentSelector)
	case len(in) == 0 && len(x.objects["GrafanaAgent"]) == 0:
		return NotSelected, "there is no GrafanaAgent in the input"
	case len(in) == 0:
		if reason := x.render.Ignore.Reason(o); reason != "" {
			return NotSelected, "ignored: " + reason
		}
		return NotSelected, ""
	}
	for _, u := range in {
		if !u.Paused && !u.Failed {
			return Rendered, ""
		}
	}
	if in[0].Paused {
		return Paused, "GrafanaAgent " + in[0].Name + " is paused: its folder is left unchanged"
	}
	return NotRendered, "GrafanaAgent " + in[0].Name +
		" cannot be rendered because of an error: its folder is left unchanged"
}

// withoutJob returns the state of an object that renders to nothing although its units are rendered, and the reason.
func (x *Explainer) withoutJob(o *manifest.Object) (State, string) {
	for _, u := range x.inUnits[o.ID] {
		for _, p := range x.parentsOf(o.Kind) {
			if h, ok := u.held[p.object.ID]; ok && h.StandIn == nil && x.selects(p, o) {
				return NotRendered, p.object.ID.String() + ", which selects it, is left out"
			}
		}
	}
	return Rendered, "it makes no job"
}

// errorOf returns the error because of which an object is left out of the set.
func (x *inputs) errorOf(id manifest.ID) string {
	for _, d := range x.findings(id) {
		if d.Severity == diag.Error {
			return sentence(d)
		}
	}
	return "it has an error, which agentry check shows"
}

// findings returns the diagnostics about an object.
func (x *inputs) findings(id manifest.ID) diag.List {
	return x.found[diag.Object{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}]
}

// problem returns a diagnostic in one line, with its position.
func (x *inputs) problem(d diag.Diagnostic) string {
	d.File, d.Source = x.show(d.Source, d.File)
	return sentence(d)
}

// sentence returns a diagnostic in one line, with its source.
func sentence(d diag.Diagnostic) string {
	if d.Source == "" {
		return d.String()
	}
	return d.String() + " (" + d.Source + ")"
}

// isReferred reports whether others refer to objects of a kind by name, and never select them.
func isReferred(kind string) bool {
	return kind == "Secret" || kind == "ConfigMap" || kind == "Namespace"
}

// chains returns the chains of selectors that lead to an object.
func (x *selectors) chains(o *manifest.Object) (out []Chain) {
	for _, p := range x.parentsOf(o.Kind) {
		if !x.selects(p, o) {
			continue
		}
		step := x.step(p, o)
		if p.object.Kind == "GrafanaAgent" {
			if x.isRun(p.object) {
				out = append(out, Chain{Steps: []Step{step}})
			}
			continue
		}
		above := x.chains(p.object)
		for _, c := range above {
			out = append(out, Chain{Steps: append(slices.Clone(c.Steps), step)})
		}
		if len(above) == 0 {
			misses, _ := x.misses(p.object)
			out = append(out, Chain{Steps: []Step{step}, Ends: true, Misses: misses[:min(1, len(misses))]})
		}
	}
	slices.SortStableFunc(out, func(a, b Chain) int { return cmp.Compare(a.rank(), b.rank()) })
	return out
}

// rank sorts chains that begin at a GrafanaAgent first.
func (c Chain) rank() int {
	if c.Ends {
		return 1
	}
	return 0
}

func (x *selectors) step(p parent, o *manifest.Object) Step {
	c := p.of(o.Kind)
	s := Step{By: x.describe(p.object), Field: x.field(p.object, c.Path), Selects: x.describe(o),
		Wants: requirementsOf(c.selector, o.Labels)}
	s.Namespaces = x.where(p, c)
	if c.namespaces != nil {
		s.NamespaceWants = requirementsOf(c.namespaces, x.labelsOf(o.Namespace))
	}
	return s
}

// where says in which namespaces a choice looks.
func (x *selectors) where(p parent, c *choice) string {
	switch {
	case c.NamespaceSelector == nil:
		return "only its own namespace, " + p.object.Namespace
	case c.namespaces == nil || c.namespaces.Empty():
		return "all namespaces"
	}
	return "namespaces with " + selectorText(c.namespaces)
}

// misses returns the parents that do not select an object, nearest first, and how many are not listed.
func (x *selectors) misses(o *manifest.Object) (out []Miss, more int) {
	near := nearest[parent]{limit: maxMisses}
	for _, p := range x.parentsOf(o.Kind) {
		if p.object.Kind == "GrafanaAgent" && !x.isRun(p.object) || x.selects(p, o) {
			continue
		}
		near.add(x.distance(p, p.of(o.Kind), o), p)
	}
	for _, p := range near.list() {
		out = append(out, x.miss(p, p.of(o.Kind), o))
	}
	return out, near.seen - len(out)
}

// nearest keeps the nearest of many candidates. Of equally near ones, it keeps those that were added first.
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
