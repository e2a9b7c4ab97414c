package hierarchy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// reach is the set of MetricsIntegrations that an IntegrationMonitor selects from.
type reach struct {
	monitor    *manifest.Object
	selector   labels.Selector // nil if it is invalid, which package compile reports
	namespaces []string        // sorted
	anywhere   bool            // in all namespaces
	scopeAll   bool            // of all GrafanaAgents
}

func (h *Hierarchy) reachOf(o *manifest.Object) reach {
	spec := &manifest.As[v1alpha1.IntegrationMonitor](o).Spec
	r := reach{monitor: o, scopeAll: spec.Scope == v1alpha1.ScopeAll}
	if selector, err := metav1.LabelSelectorAsSelector(&spec.Selector); err == nil {
		r.selector = selector
	}
	switch names := spec.NamespaceSelector; {
	case h.Spec().Metrics.IgnoreNamespaceSelectors, !names.Any && len(names.MatchNames) == 0:
		r.namespaces = []string{o.Namespace}
	case names.Any:
		r.anywhere = true
	default:
		r.namespaces = slices.Compact(slices.Sorted(slices.Values(names.MatchNames)))
	}
	return r
}

func (r reach) sees(namespace string) bool {
	return r.anywhere || slices.Contains(r.namespaces, namespace)
}

func (r reach) where() string {
	if r.anywhere {
		return "all namespaces"
	}
	return strings.Join(r.namespaces, ", ")
}

// reaches returns the reach of each of a hierarchy's IntegrationMonitors.
func (h *Hierarchy) reaches() []reach {
	var out []reach
	seen := map[*manifest.Object]bool{}
	for _, m := range h.Metrics {
		for _, o := range m.IntegrationMonitors {
			if !seen[o] {
				seen[o] = true
				out = append(out, h.reachOf(o))
			}
		}
	}
	return out
}

// warnUncollected predicts what IntegrationMonitors will scrape. It warns about monitors that will scrape nothing, and
// about MetricsIntegrations that no monitor scrapes.
func (b *builder) warnUncollected(all []*Hierarchy) {
	reaches := make([][]reach, len(all))
	collectedByAll := map[*manifest.Object]bool{} // by a monitor of any GrafanaAgent
	for i, h := range all {
		reaches[i] = h.reaches()
		for _, r := range reaches[i] {
			if r.scopeAll {
				b.collect(r, collectedByAll)
			}
		}
	}
	for i, h := range all {
		b.warnUncollectedIn(h, reaches[i], collectedByAll)
	}
}

// collect adds the MetricsIntegrations that a monitor would scrape.
func (b *builder) collect(r reach, collected map[*manifest.Object]bool) {
	if r.selector == nil {
		return
	}
	for _, o := range b.index("MetricsIntegration").find(r.namespaces, r.anywhere, r.selector) {
		collected[o] = true
	}
}

func (b *builder) warnUncollectedIn(h *Hierarchy, reaches []reach, collectedByAll map[*manifest.Object]bool) {
	if b.mayBeLeftOut(nil, true, labels.Everything(), "MetricsInstance", "IntegrationMonitor") {
		return // a monitor that is left out may have collected them
	}
	var run []*manifest.Object
	for _, o := range h.Integrations {
		if o.Kind == "MetricsIntegration" {
			run = append(run, o)
		}
	}
	collected := map[*manifest.Object]bool{}
	for _, r := range reaches {
		if r.selector == nil {
			return // an invalid selector may have been meant to collect any of them
		}
		if r.scopeAll {
			continue
		}
		seen := map[*manifest.Object]bool{}
		b.collect(r, seen)
		if !slices.ContainsFunc(run, func(o *manifest.Object) bool { return seen[o] }) &&
			!b.mayBeLeftOut(r.namespaces, r.anywhere, r.selector, "MetricsIntegration") {
			h.warnCollectsNothing(r, run)
		}
		for o := range seen {
			collected[o] = true
		}
	}
	uncollected := slices.DeleteFunc(run, func(o *manifest.Object) bool { return collected[o] || collectedByAll[o] })
	if len(uncollected) > 0 && len(reaches) == 0 {
		d := h.Agent.Place(diag.NotCollected.At("spec.integrations.selector",
			"selects MetricsIntegrations that nobody collects (%s): none of its MetricsInstances selects an "+
				"IntegrationMonitor", first(uncollected)))
		d.Hint = "let the integrationMonitorSelector of one of them choose an IntegrationMonitor that selects these"
		h.Diags = append(h.Diags, d)
		return
	}
	for _, o := range uncollected {
		h.warnNotCollected(o, reaches)
	}
}

// maxNamed limits the objects that a message names.
const maxNamed = 3

// first names the first objects of a list, and says how many more there are.
func first(objects []*manifest.Object) string {
	var names []string
	for _, o := range objects[:min(len(objects), maxNamed)] {
		names = append(names, o.Namespace+"/"+o.Name)
	}
	text := strings.Join(names, ", ")
	if more := len(objects) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// warnCollectsNothing warns about a monitor that scrapes none of the MetricsIntegrations that run.
func (h *Hierarchy) warnCollectsNothing(r reach, run []*manifest.Object) {
	seen := 0
	for _, o := range run {
		if r.sees(o.Namespace) {
			seen++
		}
	}
	switch {
	case seen > 0:
		h.Diags = append(h.Diags, r.monitor.Place(diag.SelectsNothing.At("spec.selector",
			"selects no MetricsIntegration of GrafanaAgent %s: of %d in the namespaces it looks in, none has labels "+
				"%s", h.Name(), seen, r.selector)))
	case len(run) > 0:
		h.Diags = append(h.Diags, r.monitor.Place(diag.SelectsNothing.At("spec.namespaceSelector",
			"selects no MetricsIntegration of GrafanaAgent %s: of its %d, none is in %s", h.Name(), len(run),
			r.where())))
	case !r.selector.Empty():
		h.Diags = append(h.Diags, r.monitor.Place(diag.SelectsNothing.At("spec.selector",
			"selects no MetricsIntegration: GrafanaAgent %s has none", h.Name())))
	}
}

// warnNotCollected warns about a MetricsIntegration that no monitor scrapes.
func (h *Hierarchy) warnNotCollected(o *manifest.Object, reaches []reach) {
	d := o.Place(diag.NotCollected.At("metadata.labels",
		"no IntegrationMonitor of GrafanaAgent %s selects it: it runs, and nobody collects its metrics", h.Name()))
	for _, r := range reaches {
		if r.selector.Matches(&o.Labels) && !r.sees(o.Namespace) {
			d.Hint = r.monitor.ID.String() + " selects its labels, but looks only in " + r.where() +
				": see its namespaceSelector"
			break
		}
	}
	h.Diags = append(h.Diags, d)
}
