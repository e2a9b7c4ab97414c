package hierarchy

import (
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Selectable returns the kinds that are rendered only if a selector matches them: first those that GrafanaAgents
// select, and then those that instances select.
func Selectable() []string {
	return []string{"MetricsInstance", "LogsInstance", "Integration", "MetricsIntegration",
		"ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "IntegrationMonitor", "PodLogs"}
}

// Unselected returns the objects of a set that no hierarchy has, by kind as in [Selectable], namespace and name.
func Unselected(set *manifest.Set, all []*Hierarchy) (out []*manifest.Object) {
	selected := map[manifest.ID]bool{}
	for _, h := range all {
		for o := range h.Objects {
			selected[o.ID] = true
		}
	}
	for _, kind := range Selectable() {
		for _, o := range set.Kind(kind) {
			if !selected[o.ID] {
				out = append(out, o)
			}
		}
	}
	return out
}

// SelectedOtherwise maps those of the unselected objects that something else selects to what does: a GrafanaAgent that
// has no hierarchy, or an instance that is itself unselected.
func SelectedOtherwise(set *manifest.Set, all []*Hierarchy,
	unselected []*manifest.Object) map[*manifest.Object]*manifest.Object {
	by := map[*manifest.Object]*manifest.Object{}
	b := newBuilder(set)
	rendered := map[string]bool{}
	for _, h := range all {
		rendered[h.Name()] = true
	}
	for _, agent := range set.Kind(v1alpha1.GrafanaAgentKind) {
		if !rendered[agent.Namespace+"/"+agent.Name] {
			for o := range b.agent(agent).Objects {
				by[o] = agent
			}
		}
	}
	add := func(o *manifest.Object, lists ...[]*manifest.Object) {
		for _, list := range lists {
			for _, below := range list {
				if by[below] == nil {
					by[below] = o
				}
			}
		}
	}
	for _, o := range unselected {
		switch o.Kind {
		case v1alpha1.MetricsInstanceKind:
			m := b.metricsInstance(o)
			add(o, m.ServiceMonitors, m.PodMonitors, m.Probes, m.ScrapeConfigs, m.IntegrationMonitors)
		case v1alpha1.LogsInstanceKind:
			add(o, b.logsInstance(o).PodLogs)
		}
	}
	return by
}
