// Package stage turns the pipeline stages of a PodLogs into stages of the model. Stages that a match stage holds as
// YAML text are decoded strictly. The path of a finding in such a text continues after a > sign:
// match.stages>[0].regex.expression, or with line and column: match.stages>3:1.
//
// It does not check what stages mean: each runtime has its own rules for that.
//
// It does no I/O and uses no clock. The constants below limit its work.
package stage

import (
	"strconv"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

const (
	// MaxStages limits the stages of a pipeline, including the stages inside match stages.
	MaxStages = 1000
	// MaxDepth limits how deep match stages are nested.
	MaxDepth = 10
	// MaxNestedBytes limits the YAML text of all match stages of a pipeline.
	MaxNestedBytes = 1 << 20
	// MaxFindings limits the findings about a pipeline.
	MaxFindings = 50
)

// Build returns the stages of a pipeline, and findings about what cannot be decoded. path is the path of the
// stages in their resource. If there is an error among the findings, the stages may be checked but not
// rendered.
func Build(path string, stages []*v1alpha1.PipelineStageSpec) ([]model.Stage, diag.List) {
	var b builder
	return b.pipeline(path, stages), b.findings
}

// builder counts what it reads of a pipeline.
type builder struct {
	findings diag.List
	stages   int // read so far
	depth    int // of match stages
	nested   int // bytes of YAML in match stages, read so far
}

// pipeline builds a list of stages.
func (b *builder) pipeline(path string, stages []*v1alpha1.PipelineStageSpec) []model.Stage {
	list := make([]model.Stage, 0, min(len(stages), MaxStages))
	for i, s := range stages {
		at := path + "[" + strconv.Itoa(i) + "]"
		if b.stages++; b.stages > MaxStages {
			b.report(diag.Error, diag.TooManyStages, at, "", "the pipeline has more than %d stages", MaxStages)
			break
		}
		switch s {
		case nil:
			b.report(diag.Error, diag.InvalidStage, at, "", "is null, not a stage")
		case brokenStage:
		default:
			list = append(list, b.stage(at, s))
		}
	}
	return list
}

// stage builds one stage. Most kinds have the same settings in the resource and in the model.
func (b *builder) stage(path string, s *v1alpha1.PipelineStageSpec) model.Stage {
	return model.Stage{
		Path:       path,
		CRI:        s.CRI != nil,
		Docker:     s.Docker != nil,
		Drop:       (*model.DropStage)(s.Drop),
		JSON:       (*model.JSONStage)(s.JSON),
		LabelAllow: s.LabelAllow,
		LabelDrop:  s.LabelDrop,
		Labels:     s.Labels,
		Limit:      (*model.LimitStage)(s.Limit),
		Match:      b.match(path+".match", s.Match),
		Metrics:    metrics(s.Metrics),
		Multiline:  (*model.MultilineStage)(s.Multiline),
		Output:     (*model.OutputStage)(s.Output),
		Pack:       (*model.PackStage)(s.Pack),
		Regex:      (*model.RegexStage)(s.Regex),
		Replace:    (*model.ReplaceStage)(s.Replace),
		Template:   (*model.TemplateStage)(s.Template),
		Tenant:     (*model.TenantStage)(s.Tenant),
		Timestamp:  (*model.TimestampStage)(s.Timestamp),
	}
}

func metrics(specs map[string]v1alpha1.MetricsStageSpec) map[string]model.MetricStage {
	if len(specs) == 0 {
		return nil
	}
	out := make(map[string]model.MetricStage, len(specs))
	for name, s := range specs {
		out[name] = model.MetricStage(s)
	}
	return out
}

// match builds a match stage with the stages in its text.
func (b *builder) match(path string, s *v1alpha1.MatchStageSpec) *model.MatchStage {
	if s == nil {
		return nil
	}
	stages, ok := b.nestedStages(path+".stages", s.Stages)
	return &model.MatchStage{Selector: s.Selector, PipelineName: s.PipelineName, Action: s.Action,
		DropCounterReason: s.DropCounterReason, Stages: stages, Unreadable: !ok}
}

func (b *builder) report(s diag.Severity, code diag.Code, path, hint, format string, args ...any) {
	b.findings = Limit(b.findings,
		code.At(path, format, args...).As(s).WithHint(hint))
}

// Limit appends a finding about a pipeline. After [MaxFindings] it only notes that there are more. The note is
// an error if one of these is.
func Limit(findings diag.List, f diag.Diagnostic) diag.List {
	if len(findings) >= MaxFindings {
		f.Path, f.Message, f.Hint = "", "further findings about the pipeline are not shown", ""
	}
	if len(findings) <= MaxFindings {
		return append(findings, f)
	}
	if last := &findings[MaxFindings]; f.Severity == diag.Error && last.Severity != diag.Error {
		*last = f
	}
	return findings
}
