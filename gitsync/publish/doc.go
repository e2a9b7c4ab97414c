// Package publish brings what was rendered to the output's repository: it commits a change and pushes or
// proposes it. With it go the texts that say where a commit comes from, the lock files that a proposal
// names its inputs by, and the notes that promotion tools read.
//
// All that is written depends on the inputs and on what was fetched alone, so every replica writes the
// same. What goes to refs that many pipelines share is gathered by [Batches].
package publish
