package alloy

import (
	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/alloy/syntax"
)

// reports matches the samples that a scrape makes about itself.
const reports = "up|scrape_duration_seconds|scrape_samples_scraped|scrape_samples_post_metric_relabeling|scrape_series_added"

// receivers returns where the samples of a job go. Prometheus applies rules for samples to those of the
// target, not to its own reports; here both come out of the same component, so reports have a way of their own.
func (s *scrapes) receivers(job *model.ScrapeConfig) syntax.Expr {
	writer := syntax.Expr("prometheus.remote_write." + s.instance + ".receiver")
	if len(job.MetricRelabel) == 0 {
		return syntax.List(writer)
	}
	text := rulesText(job)
	to, known := s.rules[text]
	if known {
		return to
	}
	if len(s.rules) == 0 {
		s.samples(s.instance+"__reports", writer, rule("rule", &model.Relabel{SourceLabels: []string{"__name__"}, Regex: model.Present(reports), Action: "keep"}))
	}
	blocks := []syntax.Block{rule("rule", &model.Relabel{SourceLabels: []string{"__name__"}, Regex: model.Present(reports), Action: "drop"})}
	blocks = append(blocks, sampleRules(job).Blocks...)
	name := alloynames.Hashed(s.instance+"__rules", text)
	s.samples(name, writer, blocks...)
	to = syntax.List(syntax.Expr("prometheus.relabel."+s.instance+"__reports.receiver"), syntax.Expr("prometheus.relabel."+name+".receiver"))
	s.rules[text] = to
	return to
}

// samples writes a component that applies rules to samples.
func (s *scrapes) samples(name string, to syntax.Expr, rules ...syntax.Block) {
	b := syntax.Block{Name: "prometheus.relabel", Label: name, Blocks: rules}
	b.Set("forward_to", syntax.List(to))
	s.instances = syntax.Append(s.instances, &b)
}

// sampleRules returns the rules of a job for samples.
func sampleRules(job *model.ScrapeConfig) (all syntax.Block) {
	for _, r := range job.MetricRelabel {
		all.Add(rule("rule", r))
	}
	replaced(job, &all)
	return all
}

// rulesText returns the rules of a job for samples as text: it differs if one of them does.
func rulesText(job *model.ScrapeConfig) string {
	all := sampleRules(job)
	return syntax.Text(&all)
}
