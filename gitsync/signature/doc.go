// Package signature signs commits and verifies their signatures as git does, with keys of SSH and PGP.
//
// Equal commits are signed equally, but with keys of ECDSA and DSA, so that replicas make the same
// commit. No key expires by the clock: the date of the commit decides.
package signature
