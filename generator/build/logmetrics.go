package build

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtime/agent/stages"
)

// checkLogMetrics warns of PodLogs that make different metrics of one name: all run in the
// same agents, whose own metrics can then not be read.
func (b *builder) checkLogMetrics() {
	type source struct {
		metric stages.Metric
		object *manifest.Object
	}
	first := map[string]source{}
	seen := map[*manifest.Object]bool{}
	for _, l := range b.hierarchy.Logs {
		for _, o := range l.PodLogs {
			job := b.builtLogs[o]
			if job == nil || seen[o] {
				continue
			}
			seen[o] = true
			stages.Metrics(job.Stages, func(m stages.Metric) {
				known, ok := first[m.Name]
				switch {
				case !ok:
					first[m.Name] = source{m, o}
				case known.metric != m && known.object != o:
					b.report.found(o, diag.Finding{Severity: diag.Warning, Code: diag.StageIgnored, Path: "spec.pipelineStages", Related: []diag.Object{known.object.Ref()},
						Message: fmt.Sprintf("the metric %s has another type or description in %s: the agent's own metrics cannot be read once both are counted", m.Name, known.object.ID)})
				}
			})
		}
	}
}
