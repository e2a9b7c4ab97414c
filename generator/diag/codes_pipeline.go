package diag

// Codes of the pipeline file.
const (
	PipelineInvalid     Code = "pipeline-invalid"
	PipelineUnsupported Code = "pipeline-unsupported"
	PipelineConflict    Code = "pipeline-conflict"
	PipelineKept        Code = "pipeline-kept"
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
			Code:    PipelineUnsupported,
			Summary: "The pipeline file sets a field or value that is reserved and that this version does not act on.",
			Help:    "Nothing is rendered, since ignoring it would do something other than what was asked for. Remove it, or use a newer version.",
		},
		{
			Code:    PipelineConflict,
			Summary: "Two pipelines have one name, write to one place, or an output lies among its own inputs.",
			Help:    "Nothing is rendered. Give each pipeline a name, and an output branch or path, of its own.",
		},
		{
			Code:    PipelineKept,
			Summary: "The configuration of `serve` changed to something that cannot be used, and what ran before goes on.",
			Help:    "A file with an error keeps the pipelines of its last good version, and a folder that is empty or cannot be read keeps all. The other findings about the file say what is wrong with it.",
		},
	}
}
