// Package sops decrypts what SOPS encrypted, and encrypts Secrets as SOPS does, by SOPS's own library.
//
// A [Decrypter] decrypts the Secrets of a set whose values are rendered, and no others. It asks [Workers], which are
// processes of the program agentry-sops: the library links the clients of five clouds, which would add 55 MB to
// agentry. One question holds all files that are new; a file that was decrypted once is kept in memory, by a digest of
// its ciphertext and of the keys.
//
// A [FileDecrypter] decrypts files that decide what is built, one by one: those of generators, variables of Flux,
// values of charts.
//
// [Workers.Encrypt] encrypts. SOPS makes new random keys every time, so the same text never gives the same bytes.
// Package gitsync/seal therefore encrypts only what changed.
//
// Decrypted values exist in the memory of agentry and of the worker, and nowhere else. A reason why something cannot be
// decrypted or encrypted quotes neither values nor keys: see package worker.
package sops
