package agent

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/agent/stages"
)

// checkPipelines checks the pipelines of PodLogs, alone and against each other: all run in the same agents, whose own
// metrics cannot be read if two pipelines define one metric differently.
func checkPipelines(found *findings, l *model.Logs) {
	type source struct {
		metric stages.Metric
		origin model.Origin
	}
	first := map[string]source{}
	seen := map[*model.LogsScrapeConfig]bool{}
	for i := range l.Configs {
		for _, job := range l.Configs[i].ScrapeConfigs {
			if seen[job] {
				continue
			}
			seen[job] = true
			for _, f := range stages.Check(job.Stages) {
				found.add(model.Finding{Object: job.Origin.Object, Finding: f})
			}
			stages.Metrics(job.Stages, func(m stages.Metric) {
				known, ok := first[m.Name]
				switch {
				case !ok:
					first[m.Name] = source{m, job.Origin}
				case known.metric != m && known.origin != job.Origin:
					found.add(job.Origin.Find(diag.Warning, diag.StageIgnored, ".pipelineStages",
						fmt.Sprintf("the metric %s has another type or description in %s: the agent's own metrics cannot be read once both are counted", m.Name, known.origin.Object), known.origin.Object))
				}
			})
		}
	}
}
