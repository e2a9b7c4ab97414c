package patch

import (
	"path"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Budget returns the budget for disruptions that the settings give the pods of a workload, without its selector: that
// of the last settings that match. It is nil if none have one.
func (c *Changes) Budget(workload manifest.ID, labels map[string]string) (out *policyv1.PodDisruptionBudgetSpec) {
	if c == nil {
		return nil
	}
	for _, e := range c.entries {
		if s, ok := e.change.(*settings); ok && s.budget != nil && s.selects(workload.Namespace, labels) {
			out = s.budget
		}
	}
	return out
}

// checkBudget checks a budget for the workloads that match. The rules come from ValidatePodDisruptionBudgetSpec in
// Kubernetes 1.36.
func checkBudget(budget *policyv1.PodDisruptionBudgetSpec, match Match) *diag.Diagnostic {
	const field = ".podDisruptionBudget"
	ofDaemonSets := func(w string) bool { return w == "logs" || w == "integrations-daemonset" }
	switch limits := slices.DeleteFunc([]*intstr.IntOrString{budget.MinAvailable, budget.MaxUnavailable},
		func(v *intstr.IntOrString) bool {
			return v == nil
		}); {
	case len(match.Workloads) > 0 && !slices.ContainsFunc(match.Workloads, func(w string) bool {
		return !ofDaemonSets(w)
	}):
		return invalid(field, "has no effect: who drains a node leaves the pods of DaemonSets alone",
			"match metrics or integrations-deployment")
	case budget.Selector != nil:
		return invalid(field, "has a selector: agentry sets that of the workload", "remove the selector")
	case len(limits) != 1:
		return invalid(field, "needs either minAvailable or maxUnavailable", "set maxUnavailable: 1")
	default:
		if n, err := intstr.GetScaledValueFromIntOrPercent(limits[0], 100, true); err != nil || n < 0 ||
			limits[0].Type == intstr.String && n > 100 {
			return invalid(field, limits[0].String()+" is neither a number of pods nor a percentage",
				"write a number such as 1, or 25%")
		}
	}
	if p := budget.UnhealthyPodEvictionPolicy; p != nil && *p != policyv1.IfHealthyBudget &&
		*p != policyv1.AlwaysAllow {
		return invalid(field, "unhealthyPodEvictionPolicy cannot be "+string(*p),
			"use IfHealthyBudget or AlwaysAllow")
	}
	return nil
}

// selects reports whether the settings are for a workload of a GrafanaAgent in this namespace.
func (s *settings) selects(namespace string, labels map[string]string) bool {
	return matches(s.match.Namespaces, namespace) && matches(s.match.Names, labels[agentLabel]) &&
		matches(s.match.Workloads, labels[workloadLabel])
}

// matches reports whether a text matches one of the patterns, or there are none.
func matches(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, text)
		return ok
	})
}
