// Package gitsync turns input commits into commits on an output branch. One [pipeline.Pipeline] has one output
// branch. One [Syncer.Pass] reads the sources, renders them and pushes the result.
//
// The input commits, the tip of the output branch, the pipeline and the version of agentry decide every byte of the
// new commit, its date included. A push succeeds only if the branch is still at the tip that was read; otherwise the
// pass is made again on the new tip. So replicas need no lock: most often the second one finds nothing to do. Under the
// secrets policy sops random keys decide too, but the second replica keeps what the first one encrypted.
//
// An error affects nothing else: a unit with an error keeps its folder, a file that cannot be read deletes
// nothing, and a source that cannot be reached stays at its last commit. Only files that an inventory lists are
// changed or removed.
//
// Each stage of a pass is a package: source reads the repositories, branch reads the output branch, lastgood replaces
// what cannot be read by its last good version, generator renders, plan decides what becomes of the branch, and
// publish commits, proposes and pushes. Each stage owns what it keeps between passes. These caches save time and
// change no result.
package gitsync
