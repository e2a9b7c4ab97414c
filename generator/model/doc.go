// Package model is what agents shall do, as plain values: jobs, discoveries, relabelings,
// writers, pipelines, integrations. It is in no runtime's spelling: a secret is a file, a
// variable of the pod or a value, and the number of a shard is known to be one. Package build
// makes it of a hierarchy, and each runtime checks and prints it.
package model
