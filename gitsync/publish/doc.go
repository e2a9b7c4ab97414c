// Package publish commits the rendered output, and pushes or proposes it. It also writes the commit message, the lock
// file with the inputs of a proposal, and the notes that promotion tools read.
//
// Everything it writes depends only on the inputs and the fetched refs, so all replicas write the same bytes. [Batches]
// collects the writes of many pipelines to the same refs.
package publish
