package diag

// Codes of the pipeline file.
const (
	PipelineInvalid     Code = "pipeline-invalid"
	PipelineConflict    Code = "pipeline-conflict"
	PipelineKept        Code = "pipeline-kept"
	PatchFailed         Code = "patch-failed"
	PatchMatchesNothing Code = "patch-matches-nothing"
)

// pipelineCodes documents what is found in pipeline files.
func pipelineCodes() []CodeInfo {
	return []CodeInfo{
		{
			Code:    PipelineInvalid,
			Summary: "The pipeline file is not valid: a syntax error, an unknown field, a wrong type or a wrong value.",
			Help:    "Nothing is rendered. The message names the field; docs/pipeline.md describes all of them.",
		},
		{
			Code: PipelineConflict,
			Summary: "Two pipelines have the same name or write to the same place, or the output of a pipeline is " +
				"among its own inputs.",
			Help: "Nothing is rendered. Give each pipeline its own name, and its own output branch or path.",
		},
		{
			Code:    PipelineKept,
			Summary: "A changed pipeline file of `serve` cannot be used, so its previous pipelines still run.",
			Help: "A file with an error keeps the pipelines of its last good version. A folder that is empty or " +
				"cannot be read keeps all pipelines. The other diagnostics about the file say what is wrong with it.",
		},
		{
			Code: PatchFailed,
			Summary: "A patch of the pipeline cannot be applied to an object that it matches, or renames or " +
				"removes it.",
			Help: "The unit keeps its last good folder, because without the patch its pods would not be what you " +
				"asked for. Correct the patch, or narrow its target. What a patch cannot remove, the GrafanaAgent " +
				"does not ask for: change it there.",
		},
		{
			Code: PatchMatchesNothing,
			Summary: "A patch or an image of the pipeline, or settings of its workloads, match nothing that is " +
				"rendered.",
			Help: "Usually there is a typo in the target. `agentry render` prints the objects with their names " +
				"and labels. It is not reported while a unit is paused or cannot be rendered, because it may be " +
				"meant for that.",
		},
	}
}
