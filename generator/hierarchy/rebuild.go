package hierarchy

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// maxReplaced limits the number of replaced objects. For more, [Build] is cheaper.
const maxReplaced = 64

// Rebuild replaces changed leaves in hierarchies. If it returns false, run [Build] instead.
//
// before was built from a set with the same identities, and replaced maps objects of that set to their new versions.
// Hierarchies without a changed object are returned unchanged. Rebuild returns false if a change could affect
// selection or warnings.
func Rebuild(before []*Hierarchy, replaced map[*manifest.Object]*manifest.Object) ([]*Hierarchy, bool) {
	if len(replaced) > maxReplaced {
		return nil, false
	}
	reported := map[diag.Object]bool{} // their positions may change
	for _, h := range before {
		for _, d := range h.Diags {
			reported[d.Object] = true
		}
	}
	for old, next := range replaced {
		if !isLeaf(next) || !slices.Equal(old.Labels, next.Labels) ||
			!slices.EqualFunc(old.Targets, next.Targets, manifest.TargetNamespaces.Equal) ||
			reported[old.Ref()] {
			return nil, false
		}
	}
	r := replacer{
		replaced: replaced, lists: map[listKey][]*manifest.Object{},
		metrics: map[*MetricsInstance]*MetricsInstance{}, logs: map[*LogsInstance]*LogsInstance{},
	}
	out := make([]*Hierarchy, len(before))
	for i, h := range before {
		out[i] = r.hierarchy(h)
	}
	return out, true
}

// isLeaf reports whether an object selects nothing and is selected only by labels and namespace. MetricsIntegrations
// are not leaves, because there are warnings about them.
func isLeaf(o *manifest.Object) bool {
	switch o.Kind {
	case "ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "PodLogs", "Integration", "Secret", "ConfigMap":
		return true
	}
	return o.IsForeign
}

// replacer replaces objects in hierarchies. Parts that hierarchies share stay shared.
type replacer struct {
	replaced map[*manifest.Object]*manifest.Object
	lists    map[listKey][]*manifest.Object
	metrics  map[*MetricsInstance]*MetricsInstance
	logs     map[*LogsInstance]*LogsInstance
}

// listKey identifies a list by its place in memory.
type listKey struct {
	first **manifest.Object
	n     int
}

func (r replacer) hierarchy(h *Hierarchy) *Hierarchy {
	next := *h
	next.Metrics = replaceAll(h.Metrics, r.metrics, r.metricsInstance)
	next.Logs = replaceAll(h.Logs, r.logs, r.logsInstance)
	next.Integrations = r.list(h.Integrations)
	if isSame(h.Metrics, next.Metrics) && isSame(h.Logs, next.Logs) && isSame(h.Integrations, next.Integrations) {
		return h
	}
	return &next
}

func (r replacer) metricsInstance(m *MetricsInstance) *MetricsInstance {
	next := *m
	same := true
	for _, list := range []*[]*manifest.Object{&next.ServiceMonitors, &next.PodMonitors, &next.Probes,
		&next.ScrapeConfigs, &next.IntegrationMonitors} {
		was := *list
		*list = r.list(was)
		same = same && isSame(was, *list)
	}
	if same {
		return m
	}
	return &next
}

func (r replacer) logsInstance(l *LogsInstance) *LogsInstance {
	if list := r.list(l.PodLogs); !isSame(l.PodLogs, list) {
		return &LogsInstance{Object: l.Object, PodLogs: list}
	}
	return l
}

// list returns the same list if nothing in it is replaced. Lists are sorted by identity.
func (r replacer) list(list []*manifest.Object) []*manifest.Object {
	if len(list) == 0 {
		return list
	}
	key := listKey{&list[0], len(list)}
	if known, ok := r.lists[key]; ok {
		return known
	}
	out := list
	first, last := list[0].ID, list[len(list)-1].ID
	for old, next := range r.replaced {
		if old.ID.Compare(first) < 0 || old.ID.Compare(last) > 0 {
			continue // most lists cover one namespace
		}
		i, found := slices.BinarySearchFunc(list, old.ID, func(o *manifest.Object, id manifest.ID) int {
			return o.ID.Compare(id)
		})
		if !found {
			continue
		}
		if isSame(out, list) {
			out = slices.Clone(list)
		}
		out[i] = next
	}
	r.lists[key] = out
	return out
}

// replaceAll replaces the instances of a list. An instance that several hierarchies share is replaced once.
func replaceAll[T any](list []*T, known map[*T]*T, replace func(*T) *T) []*T {
	out := list
	for i, item := range list {
		next, ok := known[item]
		if !ok {
			next = replace(item)
			known[item] = next
		}
		if next == item {
			continue
		}
		if isSame(out, list) {
			out = slices.Clone(list)
		}
		out[i] = next
	}
	return out
}

// isSame reports whether two lists of the same length are the same slice.
func isSame[T any](a, b []*T) bool { return len(a) == 0 || &a[0] == &b[0] }
