// Package seal encrypts the Secrets that a pipeline writes, by SOPS, and only those that have to be encrypted anew.
//
// SOPS makes new random keys every time, so encrypting a Secret twice never makes the same bytes. A sealed file is an
// encrypted one that begins with a comment of agentry:
//
//	# agentry-seal: 2 KEY RECIPIENTS MAC
//
// KEY is a fingerprint of the key, by which replicas with different keys are found: they would encrypt in turn for
// ever. MAC is an HMAC-SHA-256 over the identity of the object, RECIPIENTS, the manifest in clear and the rest of the
// sealed file, with a key of the pipeline. RECIPIENTS is a digest of the set of recipients. If the comment of a file on
// the branch matches the Secret that is to be written, the file stays byte by byte, whoever wrote it; else the manifest
// is encrypted. So replicas agree by the branch alone, and nobody has to keep the plaintext.
//
// Without the key the MAC says nothing about the plaintext: a guess cannot be tested. Since it covers the ciphertext,
// which is random, equal Secrets have different MACs. A file that was changed, moved to another object or taken from
// the history does not match, and is replaced.
package seal
