package hierarchy

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Hierarchy is one GrafanaAgent with everything that it discovers.
type Hierarchy struct {
	Agent   *manifest.Object
	Metrics []*MetricsInstance
	Logs    []*LogsInstance
	// Integrations are Integrations and MetricsIntegrations, ordered by namespace, name and kind.
	Integrations []*manifest.Object
	// Diags are the findings about selectors, and about MetricsIntegrations that no monitor scrapes. They do not
	// include a selector that finds nothing because of another object's error.
	Diags diag.List
}

// MetricsInstance is a MetricsInstance with the monitors that it selects.
type MetricsInstance struct {
	Object              *manifest.Object
	ServiceMonitors     []*manifest.Object
	PodMonitors         []*manifest.Object
	Probes              []*manifest.Object
	ScrapeConfigs       []*manifest.Object
	IntegrationMonitors []*manifest.Object
}

// LogsInstance is a LogsInstance with the PodLogs that it selects.
type LogsInstance struct {
	Object  *manifest.Object
	PodLogs []*manifest.Object
}

// Name returns the namespace/name of the GrafanaAgent, which is the name of its unit.
func (h *Hierarchy) Name() string {
	return h.Agent.Namespace + "/" + h.Agent.Name
}

// Spec returns the GrafanaAgent's specification.
func (h *Hierarchy) Spec() *v1alpha1.GrafanaAgentSpec {
	return &manifest.As[v1alpha1.GrafanaAgent](h.Agent).Spec
}

// Objects calls yield for the agent and everything below it, parents first. It yields an object twice if two parents
// select it.
func (h *Hierarchy) Objects(yield func(*manifest.Object) bool) {
	if !yield(h.Agent) {
		return
	}
	for _, m := range h.Metrics {
		if !yield(m.Object) {
			return
		}
		for _, list := range [...][]*manifest.Object{m.ServiceMonitors, m.PodMonitors, m.Probes, m.ScrapeConfigs,
			m.IntegrationMonitors} {
			if !each(list, yield) {
				return
			}
		}
	}
	for _, l := range h.Logs {
		if !yield(l.Object) || !each(l.PodLogs, yield) {
			return
		}
	}
	each(h.Integrations, yield)
}

func each(list []*manifest.Object, yield func(*manifest.Object) bool) bool {
	for _, o := range list {
		if !yield(o) {
			return false
		}
	}
	return true
}

// Build returns a hierarchy for each GrafanaAgent in the set that agents matches (the operator's -agent-selector; nil
// matches all), ordered by namespace and name. Paused agents get a hierarchy too; the caller must not render them.
func Build(set *manifest.Set, agents labels.Selector) []*Hierarchy {
	b := newBuilder(set)
	var out []*Hierarchy
	for _, agent := range set.Kind("GrafanaAgent") {
		if agents == nil || agents.Matches(agent.Labels) {
			out = append(out, b.agent(agent))
		}
	}
	for _, h := range out {
		b.warnMissingNamespaces(h)
	}
	warnSelectedTwice(out)
	b.warnUncollected(out)
	return out
}

// Of returns the hierarchy of one GrafanaAgent, without the warnings that depend on other GrafanaAgents.
func Of(set *manifest.Set, agent *manifest.Object) *Hierarchy {
	return newBuilder(set).agent(agent)
}

func newBuilder(set *manifest.Set) *builder {
	return &builder{
		set:        set,
		indexes:    map[string]*index{},
		namespaces: map[string][]string{},
		instances:  map[*manifest.Object]*MetricsInstance{},
		logs:       map[*manifest.Object]*LogsInstance{},
		found:      map[*manifest.Object]diag.List{},
		idle:       map[*manifest.Object]diag.Diagnostic{},
		meantNames: map[string]string{},
	}
}

// builder shares work between hierarchies: an instance that two agents select is built once.
type builder struct {
	set        *manifest.Set
	indexes    map[string]*index
	namespaces map[string][]string // by selector text
	instances  map[*manifest.Object]*MetricsInstance
	logs       map[*manifest.Object]*LogsInstance
	found      map[*manifest.Object]diag.List       // diagnostics of an instance's own selectors
	idle       map[*manifest.Object]diag.Diagnostic // about instances whose selectors find nothing
	known      []string                             // see allNamespaces
	unknown    []string                             // see unknownNamespaces
	meantNames map[string]string                    // see meantNamespace
}

func (b *builder) agent(agent *manifest.Object) *Hierarchy {
	h := &Hierarchy{Agent: agent}
	q := query{builder: b, parent: agent, diags: &h.Diags}
	choices := Choices(agent)
	for _, o := range q.selects(choices[0]) {
		h.Metrics = append(h.Metrics, b.metricsInstance(o))
		h.Diags = append(h.Diags, b.found[o]...)
	}
	for _, o := range q.selects(choices[1]) {
		h.Logs = append(h.Logs, b.logsInstance(o))
		h.Diags = append(h.Diags, b.found[o]...)
	}
	h.Integrations = q.selects(choices[2])
	b.warnIdle(h)
	b.warnServiceAccount(h)
	if len(h.Metrics)+len(h.Logs)+len(h.Integrations) == 0 && len(h.Diags) == 0 && !q.waits {
		h.Diags = append(h.Diags, q.rendersNothing(choices))
	}
	return h
}

func (b *builder) metricsInstance(o *manifest.Object) *MetricsInstance {
	if m := b.instances[o]; m != nil {
		return m
	}
	spec := &manifest.As[v1alpha1.MetricsInstance](o).Spec
	var diags diag.List
	q := query{builder: b, parent: o, diags: &diags}
	choices := Choices(o)
	m := &MetricsInstance{
		Object:              o,
		ServiceMonitors:     q.selects(choices[0]),
		PodMonitors:         q.selects(choices[1]),
		Probes:              q.selects(choices[2]),
		ScrapeConfigs:       q.selects(choices[3]),
		IntegrationMonitors: q.selects(choices[4]),
	}
	q.noteIdle(len(m.ServiceMonitors)+len(m.PodMonitors)+len(m.Probes)+len(m.ScrapeConfigs)+len(m.IntegrationMonitors),
		spec.AdditionalScrapeConfigs != nil,
		"ServiceMonitor, PodMonitor, Probe, ScrapeConfig or IntegrationMonitor")
	b.instances[o], b.found[o] = m, diags
	return m
}

func (b *builder) logsInstance(o *manifest.Object) *LogsInstance {
	if l := b.logs[o]; l != nil {
		return l
	}
	spec := &manifest.As[v1alpha1.LogsInstance](o).Spec
	var diags diag.List
	q := query{builder: b, parent: o, diags: &diags}
	l := &LogsInstance{Object: o, PodLogs: q.selects(Choices(o)[0])}
	q.noteIdle(len(l.PodLogs), spec.AdditionalScrapeConfigs != nil, "PodLogs")
	b.logs[o], b.found[o] = l, diags
	return l
}
