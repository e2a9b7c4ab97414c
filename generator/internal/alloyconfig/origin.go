package alloyconfig

import (
	"maps"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
)

// origin is where targets come from: a component, or a target as it is written.
type origin struct {
	component *Block         // nil for a target
	of        []origin       // of a component that relabels: where its targets come from
	target    map[string]any // its labels
}

// maxOriginBytes limits the expressions that are read while targets are followed, because components can refer to one another in circles,
// and each to many. No configuration that agentry prints comes near it.
const maxOriginBytes = 64 << 20

// origins returns where the targets of an expression come from, and marks the components as used. Integrations are not. depth is how many
// components that relabel lead to the expression.
func (c *config) origins(expr string, depth int) (out []origin) {
	if c.followed += len(expr); depth > maxDepth || c.followed > maxOriginBytes {
		c.isEndless = true
	}
	if c.isEndless {
		return nil
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			out = append(out, origin{target: v})
		case string:
			id := v[:max(strings.LastIndexByte(v, '.'), 0)]
			d := c.byID[id]
			switch {
			case d == nil:
			case isExporter(d):
				out = append(out, origin{component: d})
			case strings.HasPrefix(d.Name, "discovery."):
				c.used[id] = true
				o := origin{component: d}
				if isRelabel(d) {
					o.of = c.origins(d.attr("targets"), depth+1)
				}
				out = append(out, o)
			}
		}
	}
	walk(value(expr))
	return out
}

func isExporter(b *Block) bool { return strings.HasPrefix(b.Name, "prometheus.exporter.") }

func isRelabel(b *Block) bool { return b.Name == "discovery.relabel" }

// appendTexts appends the texts of the components.
func appendTexts(texts []string, from []origin) []string {
	for _, o := range from {
		if o.component != nil {
			texts = appendTexts(append(texts, o.component.Text), o.of)
		}
	}
	return texts
}

// exporterOf returns the id of the integration of the pod that has the targets, or "".
func exporterOf(from []origin) (id string) {
	for _, o := range from {
		switch {
		case o.component == nil:
		case isExporter(o.component):
			id = o.component.ID()
		case isRelabel(o.component):
			id = exporterOf(o.of)
		}
	}
	return id
}

// addOrigins adds service discoveries and static targets to a job.
func addOrigins(job map[string]any, from []origin) {
	add := func(field string, v any) {
		all, _ := job[field].([]any)
		job[field] = append(all, v)
	}
	for _, o := range from {
		switch {
		case o.component == nil:
			labels := maps.Clone(o.target)
			delete(labels, "__address__")
			add("static_configs", map[string]any{"targets": []any{o.target["__address__"]}, "labels": labels})
		case isExporter(o.component):
		case isRelabel(o.component):
			inner := map[string]any{"relabel_configs": fields(o.component)["relabel_configs"]}
			addOrigins(inner, o.of)
			if exporterOf(o.of) == "" {
				inner["name"] = alloynames.Name(o.component.Label)
				add("integration_sd_configs", inner)
			} else if mine, _ := inner["relabel_configs"].([]any); len(mine) > 0 {
				add("integration_sd_configs", inner)
			}
		default:
			add(strings.TrimPrefix(o.component.Name, "discovery.")+"_sd_configs", fields(o.component))
		}
	}
}
