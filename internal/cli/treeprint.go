package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// node is an object with what is below it.
type node struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	// Paused is true for a GrafanaAgent that is left alone.
	Paused bool `json:"paused,omitempty"`
	// Counts has the number of objects below by kind; it is absent for leaves.
	Counts   map[string]int `json:"counts,omitempty"`
	Children []*node        `json:"children,omitempty"`
}

// forest is what `agentry tree` prints.
type forest struct {
	Agents []*node `json:"agents"`
	// Unselected are objects that no GrafanaAgent discovers.
	Unselected []*node `json:"unselected"`
}

// selectable are the kinds that are rendered only where a selector finds them.
func selectable() []string {
	return []string{"MetricsInstance", "LogsInstance", "Integration", "MetricsIntegration",
		"ServiceMonitor", "PodMonitor", "Probe", "IntegrationMonitor", "PodLogs"}
}

func newForest(set *manifest.Set, trees []*hierarchy.Hierarchy) forest {
	f := forest{Agents: []*node{}, Unselected: []*node{}}
	selected := map[manifest.ID]bool{}
	for _, h := range trees {
		for o := range h.Objects {
			selected[o.ID] = true
		}
		f.Agents = append(f.Agents, newTree(h))
	}
	for _, kind := range selectable() {
		for _, o := range set.Kind(kind) {
			if !selected[o.ID] {
				f.Unselected = append(f.Unselected, newNode(o))
			}
		}
	}
	return f
}

func newTree(h *hierarchy.Hierarchy) *node {
	agent := newNode(h.Agent)
	agent.Paused = h.Spec().Paused
	for _, m := range h.Metrics {
		agent.add(newNode(m.Object).add(leaves(m.ServiceMonitors, m.PodMonitors, m.Probes, m.IntegrationMonitors)...))
	}
	for _, l := range h.Logs {
		agent.add(newNode(l.Object).add(leaves(l.PodLogs)...))
	}
	return agent.add(leaves(h.Integrations)...)
}

func newNode(o *manifest.Object) *node {
	line, _ := o.Position("")
	return &node{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, File: o.File(), Line: line}
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

// add puts nodes below n and counts them and all that is below them.
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
	if n.Paused {
		s += " (paused)"
	}
	if counts := countsText(n.Counts); counts != "" {
		s += "  " + counts
	}
	return s
}

// countsText lists the counts in the order in which kinds are read top-down.
func countsText(counts map[string]int) string {
	var parts []string
	for _, kind := range selectable() {
		if count := counts[kind]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, plural(kind, count)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func plural(word string, count int) string {
	if count == 1 || strings.HasSuffix(word, "s") {
		return word
	}
	return word + "s"
}

func (f forest) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(f)
}

func (f forest) writeText(w io.Writer) error {
	var b strings.Builder
	for _, agent := range f.Agents {
		b.WriteString(agent.String() + "\n")
		writeBranches(&b, agent.Children, "")
	}
	if len(f.Unselected) > 0 {
		b.WriteString("\nNot selected by any GrafanaAgent:\n")
		writeBranches(&b, f.Unselected, "")
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
		b.WriteString(indent + branch + n.String() + "\n")
		writeBranches(b, n.Children, indent+below)
	}
}
