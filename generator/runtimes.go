package generator

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// Runtime returns the runtime of a name, or the default for a name that none has.
func Runtime(name string) runtimes.Runtime { return choice(name, Runtimes()).Default }

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
	return r.opts.Runtimes.Of(h.Agent.Meta.Annotations)
}

// choices checks which program the objects of a hierarchy choose: only its GrafanaAgent can.
func (r renderer) choices(h *hierarchy.Hierarchy) (found diag.List) {
	for _, d := range r.opts.Runtimes.Check(h.Agent.Meta.Annotations) {
		found = append(found, h.Agent.Place(d))
	}
	for o := range h.Objects {
		if _, chooses := o.Meta.Annotations[runtimes.Annotation]; chooses && o != h.Agent {
			found = append(found, o.Place(diag.InvalidSetting.At(runtimes.AnnotationPath,
				"has no effect on a %s: the pods run what their GrafanaAgent chooses", o.Kind).As(diag.Warning).
				WithHint("move it to the GrafanaAgent")))
		}
	}
	return found
}
