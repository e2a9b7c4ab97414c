// Package model describes the configuration of agents as plain values: jobs, discoveries, relabelings, writers,
// pipelines, integrations. It is independent of the runtime's syntax: a secret is a file, a variable of the pod or a
// value, and a shard number is marked as such. Package compile makes a model from a hierarchy; each runtime checks and
// prints it.
package model
