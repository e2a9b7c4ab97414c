// Package lastgood replaces unreadable objects with their last good versions, so that an error in one object changes
// nothing else.
//
// The inventory of the output branch has a record of each held object, and the branch has the text of its last good
// version. Without a record, the version is read from the base: the input commit that the output was last rendered
// from.
package lastgood
