// Package source reads the repositories of a pipeline: their files at a commit, and at the commit that the
// output was last rendered from.
//
// It reads and parses only changed files; the others are kept with the [Source]. It does not follow symbolic
// links and submodules, and .sourceignore files hide the files that they match. The objects of a file depend
// only on its blob and its path.
package source
