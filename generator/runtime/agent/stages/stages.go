// Package stages holds the stages of pipelines to the rules of the agent's own, which are
// Promtail's (clients/pkg/logentry/stages of Loki k190): for one bad stage an agent refuses its
// whole configuration.
//
// Promises: no I/O and no clock; a pipeline in which no error is found is accepted by the agent.
package stages

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/build/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// MaxExpressionBytes is how long a regular expression, JMESPath expression, selector or template
// may be: what reads them recurses.
const MaxExpressionBytes = 64 << 10

// Check returns what is wrong with a pipeline.
func Check(pipeline []model.Stage) []diag.Finding {
	var c Checker
	c.pipeline(pipeline)
	return c.findings
}

// Checker holds to the rules pipelines that are not those of a resource. It is given their stages
// one by one, in their order. What it finds quotes nothing of them. The zero value is ready.
type Checker struct {
	findings []diag.Finding
	hidden   bool
	before   before
}

// before is what later stages of a pipeline depend on.
type before struct {
	defined map[string]definition // metrics so far, by their full name
	bound   string                // where the label le is set, or empty
}

// Stage checks one stage. Paths in findings begin with a point and the resource's name of
// the stage.
func (c *Checker) Stage(s *model.Stage) []diag.Finding {
	c.findings, c.hidden = nil, true
	c.stage(s)
	for i := range c.findings {
		f := &c.findings[i]
		if f.Message = blanks.Replace(f.Message); f.Message == blank {
			f.Message = "is not what the agent takes"
		}
	}
	return c.findings
}

func (c *Checker) pipeline(list []model.Stage) {
	for i := range list {
		c.stage(&list[i])
	}
}

// stage checks one stage: that it is of one kind, and its settings.
func (c *Checker) stage(s *model.Stage) {
	var p problems
	var found []string
	for _, k := range kinds(s, &c.before) {
		if k.set {
			found = append(found, k.name)
			k.check(&p, s.Path+"."+k.name)
		}
	}
	switch len(found) {
	case 0:
		p.add(diag.Warning, diag.StageIgnored, s.Path, "a stage without settings is written as cri: {}", "the stage is empty, and does nothing")
	case 1:
	default:
		p.fail(s.Path, "a stage has one key, this has %s", strings.Join(found, ", "))
	}
	c.report(p)
	if s.Match != nil {
		c.pipeline(s.Match.Stages)
	}
}

// kind is a kind of stage by the name of its field in the resource.
type kind struct {
	name  string
	set   bool
	check func(p *problems, path string)
}

// kinds are all kinds in the order of the resource's fields. What the checks find out for later
// stages they put into before.
func kinds(s *model.Stage, before *before) []kind {
	nothing := func(*problems, string) {}
	return []kind{
		{"cri", s.CRI, nothing},
		{"docker", s.Docker, nothing},
		{"drop", s.Drop != nil, func(p *problems, path string) { drop(p, path, s.Drop) }},
		{"json", s.JSON != nil, func(p *problems, path string) { json(p, path, s.JSON) }},
		{"labelAllow", len(s.LabelAllow) > 0, func(p *problems, path string) { labelAllow(p, path, s.LabelAllow, before) }},
		{"labelDrop", len(s.LabelDrop) > 0, func(p *problems, path string) { labelDrop(p, path, s.LabelDrop, before) }},
		{"labels", len(s.Labels) > 0, func(p *problems, path string) { labels(p, path, s.Labels, before) }},
		{"limit", s.Limit != nil, func(p *problems, path string) { limit(p, path, s.Limit) }},
		{"match", s.Match != nil, func(p *problems, path string) { match(p, path, s.Match) }},
		{"metrics", len(s.Metrics) > 0, func(p *problems, path string) { metrics(p, path, s.Metrics, before) }},
		{"multiline", s.Multiline != nil, func(p *problems, path string) { multiline(p, path, s.Multiline) }},
		{"output", s.Output != nil, func(p *problems, path string) { p.required(path+".source", s.Output.Source) }},
		{"pack", s.Pack != nil, nothing},
		{"regex", s.Regex != nil, func(p *problems, path string) { regex(p, path, s.Regex) }},
		{"replace", s.Replace != nil, func(p *problems, path string) { replace(p, path, s.Replace) }},
		{"template", s.Template != nil, func(p *problems, path string) { template(p, path, s.Template) }},
		{"tenant", s.Tenant != nil, func(p *problems, path string) { tenant(p, path, s.Tenant) }},
		{"timestamp", s.Timestamp != nil, func(p *problems, path string) { timestamp(p, path, s.Timestamp) }},
	}
}

// report adds findings.
func (c *Checker) report(list problems) {
	for _, p := range list {
		if c.hidden {
			p.hint, p.args = hide(p.hint, p.args)
		}
		c.findings = stage.Limit(c.findings, diag.Finding{Severity: p.severity, Code: p.code, Path: p.path, Message: fmt.Sprintf(p.format, p.args...), Hint: p.hint})
	}
}
