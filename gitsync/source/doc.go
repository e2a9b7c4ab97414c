// Package source reads the repositories of a pipeline: what is in them at a commit, and what was in them
// at the commit that the output was last rendered from.
//
// Only files that changed are read and parsed; what was read is kept with the [Source]. Symbolic links and
// submodules are not followed, and .sourceignore files hide what they match. What a file defines depends on
// its blob and its path alone.
package source
