// Package pipeline is the specification of a pipeline: the fields of a pipeline file, their defaults, and their
// validation.
//
// A [Pipeline] describes one output branch. [Pipeline.Default] sets defaults, [Pipeline.Validate] returns the
// invalid fields, and [Overlaps] finds pipelines that cannot run together. They use only the pipelines: no
// files, no network. Package internal/pipelinefile reads pipelines from files.
package pipeline
