package generator

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// RuntimesAt returns the choice of runtimes with the default of a name. version is Alloy's, or empty for the one that
// agentry knows best; the version of the agent is a field of the GrafanaAgent. With clusters, Alloy's pods share their
// targets by clustering, which the agent does not have: its pods share them by rules.
func RuntimesAt(name, version string, clusters bool) (runtimes.Choice, error) {
	v := catalogue.Default()
	if version != "" {
		var err error
		if v, err = catalogue.ParseVersion(version); err != nil {
			return runtimes.Choice{}, err
		}
	}
	if clusters {
		return choice(name, []runtimes.Runtime{agent.Runtime(), alloy.Clustered(v)}), nil
	}
	return choice(name, []runtimes.Runtime{agent.Runtime(), alloy.At(v)}), nil
}

// OnlyAgent returns the choice for tests of what is scraped, which is the same for all runtimes.
func OnlyAgent() runtimes.Choice { return runtimes.Choice{Default: agent.Runtime(), IsFixed: true} }

// choice returns the choice of runtimes with the default of a name.
func choice(name string, all []runtimes.Runtime) runtimes.Choice {
	i := max(0, slices.IndexFunc(all, func(r runtimes.Runtime) bool { return r.Name == name }))
	return runtimes.Choice{Default: all[i], Others: slices.Concat(all[:i], all[i+1:])}
}

// Runtimes returns the programs that pods can run. The first is the default.
func Runtimes() []runtimes.Runtime {
	return []runtimes.Runtime{agent.Runtime(), alloy.Runtime()}
}

// runtime returns the program that the pods of a hierarchy run.
func (r renderer) runtime(h *hierarchy.Hierarchy) runtimes.Runtime {
	return r.opts.Runtimes.Of(h.Agent.Annotations)
}

// choices checks which program the objects of a hierarchy choose: only its GrafanaAgent can.
func (r renderer) choices(h *hierarchy.Hierarchy) (found diag.List) {
	for _, d := range r.opts.Runtimes.Check(h.Agent.Annotations) {
		found = append(found, h.Agent.Place(d))
	}
	for o := range h.Objects {
		if _, chooses := o.Annotations[runtimes.Annotation]; chooses && o != h.Agent {
			found = append(found, o.Place(diag.InvalidSetting.At(runtimes.AnnotationPath,
				"has no effect on a %s: the pods run what their GrafanaAgent chooses", o.Kind).As(diag.Warning).
				WithHint("move it to the GrafanaAgent")))
		}
	}
	return found
}

// outOfReach warns of IntegrationMonitors for all GrafanaAgents that miss some of them: the sd-aggregator finds no
// integrations of a program that does not list them.
func (r renderer) outOfReach(units []*Unit) (found diag.List) {
	var silent []string
	for _, u := range units {
		if h := u.Hierarchy; h != nil && len(h.Integrations) > 0 && !r.runtime(h).ListsIntegrations {
			silent = append(silent, u.Name)
		}
	}
	if len(silent) == 0 {
		return nil
	}
	for _, u := range units {
		if u.Hierarchy == nil || !r.runtime(u.Hierarchy).ListsIntegrations {
			continue
		}
		for _, m := range u.Hierarchy.Metrics {
			for _, o := range m.IntegrationMonitors {
				if manifest.As[v1alpha1.IntegrationMonitor](o).Spec.Scope != v1alpha1.ScopeAll {
					continue
				}
				d := o.Place(diag.RuntimeDiffers.At("spec.scope",
					"does not reach the integrations of %s, whose pods run Alloy: they are not scraped",
					strings.Join(silent, ", ")).As(diag.Warning))
				d.Hint = "let a MetricsInstance of each GrafanaAgent select an IntegrationMonitor without scope"
				d.Units = []string{u.Name}
				found = append(found, d)
			}
		}
	}
	return found
}
