package alloyconfig

import (
	"slices"
	"strings"
)

// words returns the agent's words for blocks, by the component. Those of all components are under "".
func words(component, block string) string {
	if block == "rule" {
		if component == "prometheus.relabel" {
			return "metric_relabel_configs"
		}
		return "relabel_configs"
	}
	if block == "write_relabel_config" {
		return "write_relabel_configs"
	}
	return block
}

// isList reports whether a component can have several blocks of a name. Any other block is a field.
func isList(block string) bool {
	switch block {
	case "rule", "write_relabel_config", "endpoint", "selectors", "filter":
		return true
	}
	return false
}

// fields returns the attributes and blocks of a block. Blocks that can be there several times are lists; the stages of a
// pipeline are a list too, because their order matters. without names attributes to leave out, because they can be as
// long as all jobs.
func fields(b *Block, without ...string) map[string]any {
	out := make(map[string]any, len(b.Attrs)+len(b.Blocks))
	for _, a := range b.Attrs {
		if !slices.Contains(without, a.Name) {
			out[a.Name] = value(a.Value)
		}
	}
	times := map[string]int{}
	for _, inner := range b.Blocks {
		times[inner.Name]++
	}
	for _, inner := range b.Blocks {
		v := fields(inner)
		if inner.Label != "" {
			v["label"] = inner.Label
		}
		name := words(b.Name, inner.Name)
		if stage, is := strings.CutPrefix(inner.Name, "stage."); is {
			stages, _ := out[stagesOf(b)].([]any)
			out[stagesOf(b)] = append(stages, map[string]any{stage: v})
			continue
		}
		if isList(inner.Name) || times[inner.Name] > 1 {
			all, _ := out[name].([]any)
			out[name] = append(all, v)
			continue
		}
		out[name] = v
	}
	return out
}

// stagesOf returns the agent's word for the stages in a block.
func stagesOf(b *Block) string {
	if b.Name == "loki.process" {
		return "pipeline_stages"
	}
	return "stages"
}

// renamed returns fields with other names.
func renamed(all map[string]any, to map[string]string) map[string]any {
	for old, now := range to {
		if v, found := all[old]; found {
			delete(all, old)
			all[now] = v
		}
	}
	return all
}

// IntegrationOf returns the agent's name of the integration that a component is, or "" if it is none.
func IntegrationOf(component string) string {
	switch component {
	case "prometheus.exporter.self":
		return "agent"
	case "prometheus.exporter.apache":
		return "apache_http"
	case "prometheus.exporter.unix":
		return "node_exporter"
	case "faro.receiver":
		return "app_agent_receiver"
	case "loki.source.kubernetes_events":
		return "eventhandler"
	}
	name, isExporter := strings.CutPrefix(component, "prometheus.exporter.")
	if !isExporter {
		return ""
	}
	return name
}
