package alloy

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	schema "github.com/agentry-dev/agentry/generator/runtime/agent/handwritten"
	"github.com/agentry-dev/agentry/generator/runtime/alloy/handwritten"
	"github.com/agentry-dev/agentry/generator/runtime/instance"
)

// handWritten returns the hand-written jobs of an instance, which become components like all others. There are none if
// one is wrong for the agent too.
func (f *findings) handWritten(c *model.Config, i *model.Instance) (jobs []*model.ScrapeConfig) {
	if len(i.Additional) == 0 {
		return nil
	}
	wrong := instance.HandWritten(schema.NewerMetrics, c, i, 0, true)
	f.add(wrong...)
	if slices.ContainsFunc(wrong, func(one model.Finding) bool { return one.Severity == diag.Error }) {
		return nil
	}
	for n := range i.Additional {
		raw := &i.Additional[n]
		job, problems := handwritten.Job(raw)
		for _, p := range append(problems, unknownVariables(raw.Job)...) {
			f.add(instance.InText(raw, i.Origin, diag.Error, diag.NotInRuntime, p.Line, p.Message))
		}
		about := findings{version: f.version, clusters: f.clusters, pod: f.pod}
		about.job(&c.Metrics.Global, job)
		for _, one := range about.list {
			one.Related = append([]diag.Object{i.Origin.Object}, one.Related...)
			moved := instance.InText(raw, i.Origin, one.Severity, one.Code, max(one.TextLine, raw.Job.Line),
				one.Message)
			moved.Hint = one.Hint
			f.add(moved)
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// unknownVariables returns where a text has a reference to a variable that Alloy cannot express.
func unknownVariables(n *yaml.Node) (out []handwritten.Problem) {
	if _, ok := split(n.Value); n.Kind == yaml.ScalarNode && !ok {
		out = append(out, handwritten.Problem{Line: n.Line,
			Message: "Alloy knows only ${NAME} and ${NAME:-default}, where the default has no variables"})
	}
	for _, child := range n.Content {
		out = append(out, unknownVariables(child)...)
	}
	return out
}
