// Package seal encrypts the Secrets that a pipeline writes, by SOPS, and only those that have to be encrypted anew.
//
// SOPS takes new random keys every time, so the same Secret never gives the same bytes twice. A sealed file therefore begins
// with a comment of agentry:
//
//	# agentry-seal: 1 RECIPIENTS MAC
//
// MAC is an HMAC-SHA-256 over the identity of the object, RECIPIENTS, the manifest in clear and the rest of the sealed file,
// with a key of the pipeline. RECIPIENTS is a digest of the set of recipients. If the comment of a file that is there fits to
// what is to be written, the file stays byte by byte, whoever wrote it; else the manifest is encrypted. So replicas
// agree by what is on the branch, and nothing keeps the plaintext.
//
// Without the key the MAC says nothing about the plaintext: a guess cannot be tested. Since it covers the ciphertext, which
// is random, equal Secrets have different MACs. A file that was changed, moved to another object or taken from the history
// does not fit, and is replaced.
package seal
