// Package gitsync turns input commits into commits on an output branch: one [pipeline.Pipeline]
// is one branch, one [Syncer.Pass] reads the sources, renders them and pushes the result.
//
// A pass is a function of trees: the input commits, the tip of the output branch, the
// pipeline and the version of agentry decide every byte of the commit, its date
// included. It is pushed as a compare-and-swap; when the race is lost the pass is made
// again on the new tip. So replicas need no lock, and most often find nothing to do.
//
// Nothing bad spreads: a unit with an error keeps its folder byte for byte, a file that
// cannot be read deletes nothing, a source that cannot be reached stays where it was.
// Only files that an inventory lists are ever changed or removed.
//
// Package pipeline says what a pipeline may be told, source reads the repositories that are read,
// branch the branch that is written, signature signs commits and verifies them, publish commits,
// proposes and pushes. Here they are joined: what cannot be read is replaced by its last good version,
// the units are rendered, and what differs is published.
//
// What a [Syncer] keeps between passes is a cache: without it a pass costs more time and
// yields the same.
package gitsync
