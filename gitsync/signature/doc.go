// Package signature signs commits and verifies their signatures like git, with SSH and PGP keys.
//
// Signing equal commits makes equal signatures, except with ECDSA and DSA keys, so that replicas make the same commit.
// Whether a key has expired depends on the date of the commit, not on the clock.
package signature
