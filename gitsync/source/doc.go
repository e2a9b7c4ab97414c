// Package source reads the files in the repositories of a pipeline, at the current commits and at the commits that the
// output was last rendered from.
//
// It reads and parses only changed files; the [Source] keeps the others. It does not follow symbolic links and
// submodules, and .sourceignore files hide the files that they match. The objects of a file depend only on its blob and
// its path.
package source
