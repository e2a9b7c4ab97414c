// Package stages checks pipeline stages by the agent's rules, which are Promtail's (clients/pkg/logentry/stages of
// Loki k190): the agent refuses its whole configuration for one bad stage.
//
// It uses no I/O and no clock. The agent accepts a pipeline without errors.
package stages

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/compile/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// MaxExpressionBytes limits a regular expression, JMESPath expression, selector or template, because their parsers
// are recursive.
const MaxExpressionBytes = 64 << 10

// Check returns the problems of a pipeline.
func Check(pipeline []model.Stage) diag.List {
	var c Checker
	c.pipeline(pipeline)
	c.joins(pipeline)
	return c.findings
}

// Checker checks a hand-written pipeline, stage by stage, in order. Its findings do not quote the stages. The zero
// value is ready to use.
type Checker struct {
	findings diag.List
	hidden   bool
	before   before
}

// before holds the results of earlier stages that later stages of a pipeline depend on.
type before struct {
	defined map[string]definition // metrics of earlier stages, by their full name
	bound   string                // where the label le is set, or ""
}

// Stage checks one stage. The paths of findings begin with a point and the resource's name of the stage.
func (c *Checker) Stage(s *model.Stage) diag.List {
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

// stage checks that a stage is of one kind, and its settings.
func (c *Checker) stage(s *model.Stage) {
	p := problems{hidden: c.hidden}
	found := s.Kinds()
	for _, k := range kinds() {
		if slices.Contains(found, k.name) {
			k.check(&p, s.Path+"."+k.name, s, &c.before)
		}
	}
	switch len(found) {
	case 0:
		p.add(diag.Warning, diag.StageIgnored, s.Path, "a stage without settings is written as cri: {}",
			"the stage is empty, and does nothing")
	case 1:
	default:
		p.fail(s.Path, "a stage has one key, this has %s", strings.Join(found, ", "))
	}
	c.report(p)
	if s.Match != nil {
		c.pipeline(s.Match.Stages)
	}
}

// kind is a kind of stage, with the name of its field in the resource.
type kind struct {
	name string
	// check also updates before, for later stages.
	check func(p *problems, path string, s *model.Stage, before *before)
}

// kinds returns all kinds in the order of the resource's fields.
func kinds() [18]kind {
	return [...]kind{
		{"cri", nothing},
		{"docker", nothing},
		{"drop", func(p *problems, path string, s *model.Stage, _ *before) {
			drop(p, path, s.Drop)
		}},
		{"json", func(p *problems, path string, s *model.Stage, _ *before) {
			json(p, path, s.JSON)
		}},
		{"labelAllow", func(p *problems, path string, s *model.Stage, before *before) {
			labelAllow(p, path, s.LabelAllow, before)
		}},
		{"labelDrop", func(p *problems, path string, s *model.Stage, before *before) {
			labelDrop(p, path, s.LabelDrop, before)
		}},
		{"labels", func(p *problems, path string, s *model.Stage, before *before) {
			labels(p, path, s.Labels, before)
		}},
		{"limit", func(p *problems, path string, s *model.Stage, _ *before) {
			limit(p, path, s.Limit)
		}},
		{"match", func(p *problems, path string, s *model.Stage, _ *before) {
			match(p, path, s.Match)
		}},
		{"metrics", func(p *problems, path string, s *model.Stage, before *before) {
			metrics(p, path, s.Metrics, before)
		}},
		{"multiline", func(p *problems, path string, s *model.Stage, _ *before) {
			multiline(p, path, s.Multiline)
		}},
		{"output", func(p *problems, path string, s *model.Stage, _ *before) {
			p.required(path+".source", s.Output.Source)
		}},
		{"pack", nothing},
		{"regex", func(p *problems, path string, s *model.Stage, _ *before) {
			regex(p, path, s.Regex)
		}},
		{"replace", func(p *problems, path string, s *model.Stage, _ *before) {
			replace(p, path, s.Replace)
		}},
		{"template", func(p *problems, path string, s *model.Stage, _ *before) {
			template(p, path, s.Template)
		}},
		{"tenant", func(p *problems, path string, s *model.Stage, _ *before) {
			tenant(p, path, s.Tenant)
		}},
		{"timestamp", func(p *problems, path string, s *model.Stage, _ *before) {
			timestamp(p, path, s.Timestamp)
		}},
	}
}

// nothing is the check of stages that cannot be wrong.
func nothing(*problems, string, *model.Stage, *before) {}

// report adds what was found in a stage.
func (c *Checker) report(p problems) {
	for _, d := range p.List {
		c.findings = stage.Limit(c.findings, d)
	}
}
