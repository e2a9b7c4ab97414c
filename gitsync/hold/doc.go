// Package hold replaces objects that cannot be read by their last good versions, so that an error in one object
// changes nothing else.
//
// The inventory of the output branch has a record of each object that is held, and the branch has the text of
// its last good version. A version that has no record is read from the base, the input commit that the output
// was last rendered from.
package hold
