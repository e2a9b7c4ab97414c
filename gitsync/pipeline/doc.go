// Package pipeline is the specification of a pipeline: the fields of a pipeline file, their defaults, and their
// validation.
//
// A [Pipeline] describes one output branch. [Pipeline.Read] reads one like a manifest, by the schema that is
// generated from its Go types and their markers. [Pipeline.Default] sets defaults, [Pipeline.Validate] finds what a
// schema cannot, and [Overlaps] finds pipelines that cannot run together. They use only the pipelines: no files, no
// network. Package internal/pipelinefile reads pipelines from files.
package pipeline
