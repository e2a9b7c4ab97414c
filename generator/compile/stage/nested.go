package stage

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/stagehint"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/model"
)

// nestedStages builds the stages that a text holds as YAML. ok is false if it cannot be decoded.
func (b *builder) nestedStages(path, text string) (stages []model.Stage, ok bool) {
	if text == "" {
		return nil, true
	}
	specs, ok := b.decodeStages(path, text)
	b.depth++
	defer func() { b.depth-- }()
	return b.pipeline(path+">", specs), ok
}

// decodeStages decodes the stages in the text at a path.
func (b *builder) decodeStages(path, text string) (stages []*v1alpha1.PipelineStageSpec, ok bool) {
	switch b.nested += len(text); {
	case b.depth == MaxDepth:
		b.report(diag.Error, diag.TooManyStages, path, "", "match stages are nested more than %d deep", MaxDepth)
		return nil, false
	case b.nested > MaxNestedBytes:
		b.report(diag.Error, diag.TooManyStages, path, "",
			"the match stages of the pipeline hold more than %d bytes of YAML", MaxNestedBytes)
		return nil, false
	}
	value, notes, err := yamlvalue.Decode(text)
	if bad := (*yamlvalue.Error)(nil); errors.As(err, &bad) {
		b.report(diag.Error, diag.InvalidEmbeddedYAML, textPath(path, bad.Line, bad.Column), bad.HintFrom(1), "%s",
			bad.Message)
		return nil, false
	}
	for _, n := range notes {
		b.report(diag.Warning, diag.BooleanKey, textPath(path, n.Line, n.Column), fmt.Sprintf("quote it: %q", n.Key),
			"the key %s is a boolean, and is read as %q", n.Key, n.Value)
	}
	return b.decodeList(path+">", value)
}

// decodeList decodes a list of stages. It replaces a stage that it refuses with brokenStage, so that nothing
// else is reported about it.
func (b *builder) decodeList(path string, value any) (stages []*v1alpha1.PipelineStageSpec, ok bool) {
	items, ok := value.([]any)
	if !ok && value != nil {
		b.report(diag.Error, diag.InvalidStage, path, "", "must be a list of stages, is %s", typeName(value))
		return nil, false
	}
	ok = true
	for i, item := range items {
		var s *v1alpha1.PipelineStageSpec
		d := decoder{builder: b}
		at := fmt.Sprintf("%s[%d]", path, i)
		if text, isText := item.(string); isText {
			d.refuse(diag.InvalidStage, at,
				stagehint.Of(text, fieldNames(reflect.TypeFor[v1alpha1.PipelineStageSpec]())),
				"must be a mapping, is a string")
		} else {
			d.into(at, item, &s)
		}
		if d.failed {
			s, ok = brokenStage, false
		}
		stages = append(stages, s)
	}
	return stages, ok
}

// brokenStage replaces a stage that has been reported.
var brokenStage = &v1alpha1.PipelineStageSpec{}

// textPath returns the path of a line and column, if known, in the text at a path.
func textPath(path string, line, column int) string {
	return fmt.Sprintf("%s>%d:%d", path, max(line, 1), max(column, 1))
}
