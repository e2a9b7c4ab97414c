package display

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// node is an object with the objects below it.
type node struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	// Paused is true for a paused GrafanaAgent.
	Paused bool `json:"paused,omitempty"`
	// Runtime is the name of the program that the pods of a GrafanaAgent run.
	Runtime string `json:"runtime,omitempty"`
	// isMixed says that other GrafanaAgents run another one.
	isMixed bool
	// State is set for a GrafanaAgent whose unit keeps its folder or is left out, and for an object that is not
	// rendered as it is in the inputs. [Forest] has the details.
	State plan.UnitState `json:"state,omitempty"`
	// Ignored says why an unselected object is meant for no GrafanaAgent of the inputs.
	Ignored string           `json:"ignored,omitempty"`
	As      branch.CommitRef `json:"as,omitzero"`
	// Counts is the number of objects below, by kind. It is absent for leaves.
	Counts   map[string]int `json:"counts,omitempty"`
	Children []*node        `json:"children,omitempty"`
}

// Forest is the output of `agentry tree`.
type Forest struct {
	Agents []*node `json:"agents"`
	// Unselected are the objects that no GrafanaAgent discovers.
	Unselected []*node `json:"unselected"`
	// Held are the objects that are not rendered as they are in the inputs.
	Held []plan.HeldObject `json:"held"`
	// Units are those that keep their folder or are left out because of an error.
	Units []gitsync.UnitStatus `json:"units,omitempty"`
}

// NewForest returns the hierarchies of a render, and the objects and units that are not rendered as they are in the
// inputs.
func NewForest(of explain.Render, trees []*hierarchy.Hierarchy, held []plan.HeldObject,
	units []gitsync.UnitStatus) Forest {
	f := Forest{Agents: []*node{}, Unselected: []*node{}, Held: listed(held)}
	f.Held = append(f.Held, unread(of, f.Held)...)
	for _, o := range hierarchy.Unselected(of.Set, trees) {
		n := newNode(o)
		n.Ignored = of.Ignore.Reason(o)
		f.Unselected = append(f.Unselected, n)
	}
	for _, h := range trees {
		agent := newTree(h)
		agent.mark(heldIn(h.Name(), f.Held))
		for _, u := range of.Units {
			if u.Name == h.Name() {
				agent.Runtime = u.Runtime
			}
		}
		f.Agents = append(f.Agents, agent)
	}
	for _, agent := range f.Agents {
		agent.isMixed = slices.ContainsFunc(f.Agents, func(n *node) bool { return n.Runtime != agent.Runtime })
	}
	for _, u := range units {
		if u.IsWithheld() {
			f.Units = append(f.Units, u)
			f.markAgent(u)
		}
	}
	return f
}

// unread returns the objects that no unit has, because of an error in what they say about themselves, such as their
// name.
func unread(of explain.Render, held []plan.HeldObject) (out []plan.HeldObject) {
	kinds := append([]string{v1alpha1.GrafanaAgentKind}, hierarchy.Selectable()...)
	for _, o := range of.Set.LeftOut() {
		is := func(h plan.HeldObject) bool { return h.ID == o.ID }
		if !slices.Contains(kinds, o.Kind) || of.Set.Get(o.ID) != nil || slices.ContainsFunc(held, is) ||
			slices.ContainsFunc(out, is) {
			continue
		}
		h := plan.HeldObject{ID: o.ID, Units: []string{}, State: plan.UnitLeftOut}
		i := slices.IndexFunc(of.Diags, func(d diag.Diagnostic) bool {
			return d.Severity == diag.Error && manifest.IDOf(d.Object) == o.ID
		})
		if i >= 0 {
			h.Reason = of.Diags[i]
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b plan.HeldObject) int { return a.ID.Compare(b.ID) })
	return out
}

// IsEmpty reports whether the forest has nothing.
func (f Forest) IsEmpty() bool { return len(f.Agents)+len(f.Unselected)+len(f.Held)+len(f.Units) == 0 }

// Only returns the forest with the objects to keep, those above them, and all below a kept one.
func (f Forest) Only(keep func(manifest.ID) bool) Forest {
	f.Agents, f.Unselected = only(f.Agents, keep), only(f.Unselected, keep)
	f.Held = slices.DeleteFunc(slices.Clone(f.Held), func(h plan.HeldObject) bool {
		return len(h.Units) == 0 && !keep(h.ID)
	})
	return f
}

func only(nodes []*node, keep func(manifest.ID) bool) []*node {
	out := []*node{}
	for _, n := range nodes {
		if keep(manifest.ID{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}) {
			out = append(out, n)
			continue
		}
		below := only(n.Children, keep)
		if len(below) > 0 {
			n.Children, n.Counts = nil, nil
			out = append(out, n.add(below...))
		}
	}
	return out
}

// markAgent marks the GrafanaAgent of a unit that is not rendered.
func (f Forest) markAgent(u gitsync.UnitStatus) {
	for _, agent := range f.Agents {
		if agent.Namespace+"/"+agent.Name == u.Name {
			agent.State, agent.As = u.State, branch.CommitRef{}
		}
	}
}

func newTree(h *hierarchy.Hierarchy) *node {
	agent := newNode(h.Agent)
	agent.Paused = h.Spec().Paused
	for _, m := range h.Metrics {
		agent.add(newNode(m.Object).add(leaves(m.ServiceMonitors, m.PodMonitors, m.Probes, m.ScrapeConfigs,
			m.IntegrationMonitors)...))
	}
	for _, l := range h.Logs {
		agent.add(newNode(l.Object).add(leaves(l.PodLogs)...))
	}
	return agent.add(leaves(h.Integrations)...)
}

func heldIn(unit string, held []plan.HeldObject) map[manifest.ID]plan.HeldObject {
	out := map[manifest.ID]plan.HeldObject{}
	for _, h := range held {
		if slices.Contains(h.Units, unit) {
			out[h.ID] = h
		}
	}
	return out
}

// mark marks the node and the nodes below it if they are held.
func (n *node) mark(held map[manifest.ID]plan.HeldObject) {
	if h, ok := held[manifest.ID{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}]; ok {
		n.State, n.As = h.State, h.As
	}
	for _, c := range n.Children {
		c.mark(held)
	}
}

func newNode(o *manifest.Object) *node {
	file, line, _ := o.Written()
	return &node{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, File: file, Line: line}
}

func leaves(lists ...[]*manifest.Object) []*node {
	var out []*node
	for _, list := range lists {
		for _, o := range list {
			out = append(out, newNode(o))
		}
	}
	return out
}

// add appends nodes below n, and counts them and all nodes below them.
func (n *node) add(children ...*node) *node {
	for _, c := range children {
		if n.Counts == nil {
			n.Counts = map[string]int{}
		}
		n.Children = append(n.Children, c)
		n.Counts[c.Kind]++
		for kind, count := range c.Counts {
			n.Counts[kind] += count
		}
	}
	return n
}

func (n *node) String() string {
	s := n.Kind + "/" + n.Namespace + "/" + n.Name
	if n.isMixed && n.Runtime != "" {
		s += " (" + n.Runtime + ")"
	}
	if n.Paused {
		s += " (paused)"
	}
	if n.State != "" {
		s += " (" + n.stateText() + ")"
	}
	if n.Ignored != "" {
		s += " (ignored: " + n.Ignored + ")"
	}
	if counts := countsText(n.Counts); counts != "" {
		s += "  " + counts
	}
	return s
}

func (n *node) stateText() string {
	if n.As.Commit != "" {
		return "held as of " + short(n.As.Commit)
	}
	return stateText(n.State)
}

// countsText returns the counts by kind, from the top of the hierarchy down.
func countsText(counts map[string]int) string {
	var parts []string
	for _, kind := range hierarchy.Selectable() {
		if count := counts[kind]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, plural(kind, count)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// WriteText writes the forest for people.
func (f Forest) WriteText(w io.Writer, color bool) error {
	var b strings.Builder
	for _, agent := range f.Agents {
		printf(&b, "%s\n", agent)
		writeBranches(&b, agent.Children, "")
	}
	if len(f.Unselected) > 0 {
		b.WriteString("\nNot selected by any GrafanaAgent:\n")
		writeBranches(&b, f.Unselected, "")
	}
	if len(f.Held)+len(f.Units) > 0 {
		b.WriteString("\nNot rendered as in the inputs:\n")
	}
	for _, u := range f.Units {
		printf(&b, "  %s\n", unitLine(u))
	}
	for _, h := range f.Held {
		printHeld(&b, h, color)
	}
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

func writeBranches(b *strings.Builder, nodes []*node, indent string) {
	for i, n := range nodes {
		branch, below := "├── ", "│   "
		if i == len(nodes)-1 {
			branch, below = "└── ", "    "
		}
		printf(b, "%s%s%s\n", indent, branch, n)
		writeBranches(b, n.Children, indent+below)
	}
}
