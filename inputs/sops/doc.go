// Package sops decrypts what SOPS encrypted, and encrypts Secrets as SOPS does, by SOPS's own library.
//
// An [Opener] decrypts the Secrets of a set whose values are rendered, and no others. It asks [Workers], which are processes of
// the program agentry-sops: the library brings the clients of five clouds, and makes a program of 55 MB. One question holds all files that
// are not known yet; a file that was decrypted once is kept in memory, by a digest of its ciphertext and of the keys.
//
// [Workers.Seal] encrypts. SOPS takes new random keys every time, so the same text never gives the same bytes: package
// gitsync/seal sees to it that nothing is encrypted again without need.
//
// Decrypted values exist in the memory of agentry and of the worker, and nowhere else. A reason why something cannot be
// decrypted or encrypted quotes neither values nor keys: see package worker.
package sops
