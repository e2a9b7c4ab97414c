// Package model describes the configuration of agents as plain values: jobs, discoveries, relabelings, writers,
// pipelines, integrations. It does not use any runtime's spelling: a secret is a file, a variable of the pod or a
// value, and a shard number is marked as one. Package build makes a model from a hierarchy; each runtime checks and
// prints it.
package model
