package generator

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/podsecurity"
	"github.com/agentry-dev/agentry/generator/workload"
)

// PodSecurity reports the settings of the rendered pods that a level of the Pod Security Standards forbids, at their
// GrafanaAgents. It does not look at a unit that is left unchanged.
func PodSecurity(level string, units []*Unit) (diag.List, error) {
	var out diag.List
	for _, u := range units {
		var workloads []podsecurity.Workload
		for _, f := range u.Files {
			if pods := workload.Pods(f.Value); pods != nil {
				workloads = append(workloads, podsecurity.Workload{Kind: f.Object.Kind, Namespace: f.Object.Namespace,
					Name: f.Object.Name, Labels: f.Value.GetLabels(), Pods: pods})
			}
		}
		findings, err := podsecurity.Check(level, workloads)
		if err != nil {
			return nil, fmt.Errorf("check pods of %s: %w", u.Name, err)
		}
		for _, f := range findings {
			d := u.Hierarchy.Agent.Place(f)
			d.Units = []string{u.Name}
			out = append(out, d)
		}
	}
	return out, nil
}
