package stages

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// CheckAll checks the pipelines of PodLogs, alone and against each other: all run in the same pods, whose own metrics
// cannot be read if two pipelines define one metric differently.
func CheckAll(l *model.Logs) (found diag.List) {
	type source struct {
		metric Metric
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
			for _, d := range Check(job.Stages) {
				d.Object = job.Origin.Object
				found.Add(d)
			}
			Metrics(job.Stages, func(m Metric) {
				known, ok := first[m.Name]
				switch {
				case !ok:
					first[m.Name] = source{m, job.Origin}
				case known.metric != m && known.origin != job.Origin:
					found = append(found, job.Origin.Place(diag.StageIgnored.At(".pipelineStages",
						"the metric %s has another type or description in %s: the agent's own metrics "+
							"cannot be read once both are counted", m.Name, known.origin.Object).
						With(known.origin.Object)))
				}
			})
		}
	}
	return found
}
