// Package plan decides what becomes of the output branch: what is there and what was rendered go in, and the
// state of each unit, the objects that are held, the edits of a commit and what stands in their way come out.
//
// It reads the branch and writes nothing. Only files that an inventory lists are changed or removed.
package plan
