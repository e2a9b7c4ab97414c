package stages_test

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/stages"
)

// build builds a pipeline and checks it.
func build(path string, specs []*v1alpha1.PipelineStageSpec) ([]model.Stage, diag.List) {
	pipeline, findings := stage.Build(path, specs)
	return pipeline, slices.Concat(findings, stages.Check(pipeline))
}
