// Package seal encrypts the Secrets that a pipeline writes with SOPS, and encrypts a Secret again only if it changed.
//
// SOPS makes new random keys every time, so encrypting a Secret twice never makes the same bytes. A sealed file is an
// encrypted file that begins with a comment of agentry:
//
//	# agentry-seal: 2 KEY RECIPIENTS MAC
//
// KEY is a fingerprint of the pipeline's key. It reveals replicas with different keys, which would otherwise keep
// replacing each other's files. RECIPIENTS is a digest of the set of recipients. MAC is an HMAC-SHA-256 with the
// pipeline's key over the identity of the object, RECIPIENTS, the plaintext manifest and the rest of the sealed file.
// If the comment of a file on the branch matches the Secret to write, the file is left unchanged, whoever wrote it;
// otherwise the manifest is encrypted. So replicas agree by means of the branch alone, and nobody has to keep the
// plaintext.
//
// Without the key nobody can test a guess of the plaintext with the MAC. Since it covers the ciphertext, which is
// random, equal Secrets have different MACs. A file that was changed, moved to another object or taken from the history
// does not match, and is replaced.
package seal
