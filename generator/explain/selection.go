package explain

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Selection lists the objects that one selector of an object chooses.
type Selection struct {
	Field Field    `json:"field"`
	Kinds []string `json:"kinds"`
	// Selector is the selector in Kubernetes' text form. {} chooses everything; a selector that is Unset chooses
	// nothing.
	Selector string `json:"selector"`
	Unset    bool   `json:"unset,omitempty"`
	// Namespaces says in which namespaces it looks.
	Namespaces string `json:"namespaces,omitempty"`
	Count      int    `json:"count"`
	// Objects are the first of the chosen objects.
	Objects []Object `json:"objects,omitempty"`
	// Closest are the nearest misses, if no object is chosen.
	Closest []Miss `json:"closest,omitempty"`
}

// Limits of what a selection lists.
const (
	maxSelected = 10
	maxClosest  = 3
)

// selections returns the objects that each selector of an object chooses.
func (x *selectors) selections(o *manifest.Object) (out []Selection) {
	if x.byID[o.ID] == nil || !o.HasValue {
		return nil
	}
	p := x.newParent(o)
	for i := range p.choices {
		out = append(out, x.selection(p, &p.choices[i]))
	}
	return out
}

func (x *selectors) selection(p parent, c *choice) Selection {
	s := Selection{Field: x.field(p.object, c.Path), Kinds: c.Kinds, Selector: selectorText(c.selector)}
	if c.selector == nil {
		s.Selector, s.Unset = "", c.invalid == nil
		return s
	}
	s.Namespaces = x.where(p, c)
	near := nearest[*manifest.Object]{limit: maxClosest}
	for _, kind := range c.Kinds {
		for _, o := range x.objects[kind] {
			if x.selects(p, o) {
				if s.Count++; len(s.Objects) < maxSelected {
					s.Objects = append(s.Objects, x.describe(o))
				}
			} else if s.Count == 0 {
				near.add(x.distance(p, c, o), o)
			}
		}
	}
	if s.Count == 0 {
		for _, o := range near.list() {
			m, at := x.miss(p, c, o), x.describe(o)
			m.Object = &at
			s.Closest = append(s.Closest, m)
		}
	}
	return s
}

// below adds to out the objects of the unit that an instance or its GrafanaAgent selects, also through others.
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
func isSelector(kind string) bool { return slices.Contains(selectingKinds(), kind) }

// selectingKinds returns the kinds whose objects select others, from the top of the hierarchies down.
func selectingKinds() []string { return []string{"GrafanaAgent", "MetricsInstance", "LogsInstance"} }
