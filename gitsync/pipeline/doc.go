// Package pipeline is the specification of a pipeline: what a pipeline file may say, the
// defaults of what it leaves out, and what is wrong with it.
//
// One [Pipeline] describes one output branch. [Pipeline.Default] fills in what is left out,
// [Pipeline.Validate] finds what is wrong, [Overlaps] finds pipelines that get in each other's
// way. All of them look at nothing but the pipelines: no file, no network. Package
// internal/pipelinefile reads pipelines from files.
package pipeline
