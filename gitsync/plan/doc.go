// Package plan decides how the output branch changes. From the branch and the rendered units it computes the state of
// each unit, the objects that are held, the edits of a commit, and what prevents these edits.
//
// It reads the branch and writes nothing. Only files that an inventory lists are changed or removed.
package plan
