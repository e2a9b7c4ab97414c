package hierarchy

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Without returns the hierarchy without some of the objects below the GrafanaAgent, and without what is below them.
func (h *Hierarchy) Without(gone map[manifest.ID]bool) *Hierarchy {
	if len(gone) == 0 {
		return h
	}
	kept := func(list []*manifest.Object) []*manifest.Object {
		return slices.DeleteFunc(slices.Clone(list), func(o *manifest.Object) bool { return gone[o.ID] })
	}
	out := &Hierarchy{Agent: h.Agent, Integrations: kept(h.Integrations), Diags: h.Diags}
	for _, m := range h.Metrics {
		if !gone[m.Object.ID] {
			out.Metrics = append(out.Metrics,
				&MetricsInstance{Object: m.Object, ServiceMonitors: kept(m.ServiceMonitors),
					PodMonitors: kept(m.PodMonitors),
					Probes:      kept(m.Probes), ScrapeConfigs: kept(m.ScrapeConfigs),
					IntegrationMonitors: kept(m.IntegrationMonitors)})
		}
	}
	for _, l := range h.Logs {
		if !gone[l.Object.ID] {
			out.Logs = append(out.Logs, &LogsInstance{Object: l.Object, PodLogs: kept(l.PodLogs)})
		}
	}
	return out
}
