package explain

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Node is an object with the objects that its selectors choose. An object that nothing selects hangs below the nearest
// that could.
type Node struct {
	Object Object
	State  State
	// Why says why it is held, left out, paused or not selected.
	Why      string
	Children []*Node
}

// Tree returns the GrafanaAgents with all that hangs below them, and then the objects that could hang nowhere.
func (x *Explainer) Tree() []*Node {
	t := &tree{Explainer: x, nodes: map[manifest.ID]*Node{}}
	for _, agent := range x.objects["GrafanaAgent"] {
		root := t.node(agent)
		t.roots = append(t.roots, root)
		if u := x.units[agent.Namespace+"/"+agent.Name]; u != nil {
			t.addUnit(root, u)
		}
	}
	for _, kind := range hierarchy.Selectable() {
		for _, o := range x.objects[kind] {
			if len(x.inUnits[o.ID]) == 0 {
				t.addUnselected(o)
			}
		}
	}
	return t.roots
}

// tree is a tree that grows.
type tree struct {
	*Explainer
	roots []*Node
	nodes map[manifest.ID]*Node // the first node of each object that others can hang below
}

func (t *tree) node(o *manifest.Object) *Node {
	n := &Node{Object: name(o)}
	n.State, n.Why = t.stateOf(o)
	if t.nodes[o.ID] == nil && isSelector(o.Kind) {
		t.nodes[o.ID] = n
	}
	return n
}

func (t *tree) add(parent *Node, lists ...[]*manifest.Object) {
	for _, o := range slices.Concat(lists...) {
		parent.Children = append(parent.Children, t.node(o))
	}
}

// addUnit adds what a GrafanaAgent discovers.
func (t *tree) addUnit(root *Node, u *unit) {
	for _, m := range u.Hierarchy.Metrics {
		n := t.node(m.Object)
		root.Children = append(root.Children, n)
		t.add(n, m.ServiceMonitors, m.PodMonitors, m.Probes, m.ScrapeConfigs, m.IntegrationMonitors)
	}
	for _, l := range u.Hierarchy.Logs {
		n := t.node(l.Object)
		root.Children = append(root.Children, n)
		t.add(n, l.PodLogs)
	}
	t.add(root, u.Hierarchy.Integrations)
}

// addUnselected adds an object below the parent that is nearest to select it. An instance that no GrafanaAgent selects
// may select the object.
func (t *tree) addUnselected(o *manifest.Object) {
	n, near := t.node(o), nearest[parent]{limit: 1}
	for _, p := range t.parentsOf(o.Kind) {
		if t.selects(p, o) {
			near.add(-1, p)
		} else if p.object.Kind != "GrafanaAgent" || t.isRun(p.object) {
			near.add(t.distance(p, p.of(o.Kind), o), p)
		}
	}
	for _, p := range near.list() {
		if at := t.nodes[p.object.ID]; at != nil {
			if n.State == NotSelected && n.Why == "" && !t.selects(p, o) {
				m := t.miss(p, p.of(o.Kind), o)
				n.Why = strings.Join(append(m.Reasons, m.Away), ": ")
			}
			at.Children = append(at.Children, n)
			return
		}
	}
	t.roots = append(t.roots, n)
}
