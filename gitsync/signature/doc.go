// Package signature signs commits and verifies their signatures like git, with SSH and PGP keys.
//
// Signing equal commits gives equal signatures, so that replicas make the same commit; ECDSA and DSA keys are the
// exceptions. Keys expire by the date of the commit, not by the clock.
package signature
