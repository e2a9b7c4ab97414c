package alloy

import (
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	schema "github.com/agentry-dev/agentry/generator/runtimes/agent/handwritten"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/handwritten"
	"github.com/agentry-dev/agentry/generator/runtimes/internal/instance"
)

// handWritten returns the hand-written jobs of an instance, which become components like all others. There are none if
// one is wrong for the agent too.
func (f *findings) handWritten(c *model.Config, i *model.Instance) (jobs []*model.ScrapeConfig) {
	if len(i.Additional) == 0 {
		return nil
	}
	wrong := instance.HandWritten(schema.NewerMetrics, c, i, 0, true)
	f.Add(wrong...)
	if wrong.HasErrors() {
		return nil
	}
	for n := range i.Additional {
		raw := &i.Additional[n]
		job, problems := handwritten.Job(raw)
		for _, p := range append(problems, unknownVariables(raw.Job)...) {
			f.Add(instance.InText(raw, i.Origin, p.Line, p))
		}
		about := findings{version: f.version, clusters: f.clusters, pod: f.pod}
		about.job(&c.Metrics.Global, job)
		for _, one := range about.List {
			one.Path = "" // it is named after another object
			f.Add(instance.InText(raw, i.Origin, max(one.Line, raw.Job.Line), one))
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// HandWritten returns a hand-written job as values, as far as Alloy has what it says.
func HandWritten(raw *model.Raw) *model.ScrapeConfig {
	job, _ := handwritten.Job(raw)
	return job
}

// unknownVariables returns where a text has a reference to a variable that Alloy cannot express.
func unknownVariables(n *yaml.Node) (out diag.List) {
	if _, ok := split(n.Value); n.Kind == yaml.ScalarNode && !ok {
		d := diag.NotInRuntime.At("", onlyPlainVariables)
		d.Line = n.Line
		out.Add(d)
	}
	for _, child := range n.Content {
		out = append(out, unknownVariables(child)...)
	}
	return out
}
