package explain

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Selection is what one selector of an object chooses.
type Selection struct {
	Field Field    `json:"field"`
	Kinds []string `json:"kinds"`
	// Selector is the selector in Kubernetes' text form; {} chooses everything, and an absent one nothing.
	Selector string `json:"selector"`
	Unset    bool   `json:"unset,omitempty"`
	// Namespaces says in which namespaces it looks.
	Namespaces string `json:"namespaces,omitempty"`
	Count      int    `json:"count"`
	// Objects are the first of them.
	Objects []Object `json:"objects,omitempty"`
	// Closest are the objects that come closest to being chosen, if none is.
	Closest []Miss `json:"closest,omitempty"`
}

// Limits of what a selection lists.
const (
	maxSelected = 10
	maxClosest  = 3
)

// selections returns what an object selects.
func (w *judge) selections(o *manifest.Object) (out []Selection) {
	if w.byID[o.ID] == nil || o.Value == nil {
		return nil
	}
	p := w.newParent(o)
	for i := range p.choices {
		out = append(out, w.selection(p, &p.choices[i]))
	}
	return out
}

func (w *judge) selection(p parent, c *choice) Selection {
	s := Selection{Field: w.field(p.object, c.Path), Kinds: c.Kinds, Selector: plainly(c.selector)}
	if c.selector == nil {
		s.Selector, s.Unset = "", c.invalid == nil
		return s
	}
	s.Namespaces = w.where(p, c)
	near := nearest[*manifest.Object]{limit: maxClosest}
	for _, kind := range c.Kinds {
		for _, o := range w.objects[kind] {
			if w.selects(p, o) {
				if s.Count++; len(s.Objects) < maxSelected {
					s.Objects = append(s.Objects, w.describe(o))
				}
			} else if s.Count == 0 {
				near.add(w.distance(p, c, o), o)
			}
		}
	}
	if s.Count == 0 {
		for _, o := range near.list() {
			m, at := w.miss(p, c, o), w.describe(o)
			m.Object = &at
			s.Closest = append(s.Closest, m)
		}
	}
	return s
}

// below adds the objects that a unit has below an instance or its GrafanaAgent.
func (u *unit) below(o *manifest.Object, out map[manifest.ID]bool) {
	add := func(lists ...[]*manifest.Object) {
		for _, list := range lists {
			for _, below := range list {
				out[below.ID] = true
			}
		}
	}
	if o.Kind == "GrafanaAgent" {
		for below := range u.Hierarchy.Objects {
			out[below.ID] = true
		}
		delete(out, o.ID)
		return
	}
	for _, m := range u.Hierarchy.Metrics {
		if m.Object.ID == o.ID {
			add(m.ServiceMonitors, m.PodMonitors, m.Probes, m.ScrapeConfigs, m.IntegrationMonitors)
		}
	}
	for _, l := range u.Hierarchy.Logs {
		if l.Object.ID == o.ID {
			add(l.PodLogs)
		}
	}
}

// isSelector reports whether objects of a kind select others.
func isSelector(kind string) bool {
	return slices.Contains([]string{"GrafanaAgent", "MetricsInstance", "LogsInstance"}, kind)
}
