// Package stage turns the pipeline stages of a PodLogs into those of the agent, as the
// Grafana Agent Operator does, and holds each to the rules of the agent's own stages, which
// are Promtail's (clients/pkg/logentry/stages of Loki k190): for one bad stage an agent
// refuses its whole configuration.
//
// The stages that a match stage holds as YAML text are decoded strictly. A finding within
// such a text has a path that goes on behind a > sign: match.stages>[0].regex.expression, or
// a line and column of the text: match.stages>3:1.
//
// Promises: no I/O and no clock; what is built without an error is accepted by the agent;
// the work is bounded by the constants below.
package stage

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

const (
	// MaxStages is how many stages a pipeline may have, those of match stages included.
	MaxStages = 1000
	// MaxDepth is how deep match stages may be nested in each other.
	MaxDepth = 10
	// MaxNestedBytes is how much YAML text the match stages of a pipeline may hold in all.
	MaxNestedBytes = 1 << 20
	// MaxExpressionBytes is how long a regular expression, JMESPath expression, selector or
	// template may be: what reads them recurses.
	MaxExpressionBytes = 64 << 10
	// MaxFindings is how many findings are reported about a pipeline.
	MaxFindings = 50
)

// Build renders a pipeline, and checks it. The path is that of the stages in their resource.
// If there is an error among the findings, the result is not fit for an agent.
func Build(path string, stages []*v1alpha1.PipelineStageSpec) ([]model.Map, []diag.Finding) {
	var b builder
	return b.pipeline(path, stages), b.findings
}

// builder collects what is known of a pipeline while its stages are built, in their order.
type builder struct {
	findings []diag.Finding
	stages   int  // so far
	depth    int  // of match stages
	hidden   bool // findings quote nothing
	nested   int  // bytes of YAML in match stages, so far

	defined   map[string]definition // metrics so far, by their full name
	bound     string                // where the label le is set, or empty
	functions map[string]any        // of templates, once they are needed
}

// pipeline builds a list of stages.
func (b *builder) pipeline(path string, stages []*v1alpha1.PipelineStageSpec) []model.Map {
	var list []model.Map
	for i, s := range stages {
		at := fmt.Sprintf("%s[%d]", path, i)
		if b.stages++; b.stages > MaxStages {
			b.report(diag.Error, diag.TooManyStages, at, "", "the pipeline has more than %d stages", MaxStages)
			break
		}
		switch s {
		case nil:
			b.fail(at, "is null, not a stage")
		case brokenStage:
		default:
			list = append(list, b.stage(at, s))
		}
	}
	return list
}

// report adds a finding. Past the limit only a note is kept that there are more, which is an
// error if one of them is.
func (b *builder) report(s diag.Severity, code diag.Code, path, hint, format string, args ...any) {
	if b.hidden {
		hint, args = hide(hint, args)
	}
	f := diag.Finding{Severity: s, Code: code, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint}
	if len(b.findings) >= MaxFindings {
		f.Path, f.Message, f.Hint = "", "further findings about the pipeline are not shown", ""
	}
	if len(b.findings) <= MaxFindings {
		b.findings = append(b.findings, f)
	} else if last := &b.findings[MaxFindings]; s == diag.Error && last.Severity != diag.Error {
		*last = f
	}
}

// fail reports what the agent would refuse, or break on.
func (b *builder) fail(path, format string, args ...any) {
	b.report(diag.Error, diag.InvalidStage, path, "", format, args...)
}

// warn reports what the agent takes, but to no good effect.
func (b *builder) warn(path, format string, args ...any) {
	b.report(diag.Warning, diag.StageIgnored, path, "", format, args...)
}

// required reports whether a text is there that the agent insists on.
func (b *builder) required(path, text string) bool {
	if text == "" {
		b.fail(path, "is required")
	}
	return text != ""
}
