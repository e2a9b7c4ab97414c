// Package publish commits what was rendered, and pushes or proposes it. It also writes what describes a commit: its
// message, the lock file that names the inputs of a proposal, and the notes that promotion tools read.
//
// Everything that is written depends only on the inputs and on what was fetched, so all replicas write the same
// bytes. [Batches] collects what many pipelines write to the same refs.
package publish
