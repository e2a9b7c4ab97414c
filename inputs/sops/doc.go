// Package sops decrypts SOPS files and encrypts Secrets with SOPS's own library.
//
// A [Decrypter] decrypts the Secrets of a set whose values are rendered, and no others. It uses [Workers], processes
// of the program agentry-sops: the library links the clients of five clouds, which would add 55 MB to agentry. One
// request has all new files; decrypted files are cached in memory, by a digest of ciphertext and keys.
//
// A [FileDecrypter] decrypts, one by one, the files that decide what is built: files of generators, variables of Flux,
// and values of charts.
//
// [Workers.Encrypt] encrypts. SOPS makes new random keys every time, so equal texts never encrypt to equal bytes.
// Package gitsync/seal therefore encrypts only what has changed.
//
// Decrypted values exist only in the memory of agentry and its workers. The reason why something cannot be decrypted
// or encrypted quotes neither values nor keys: see package worker.
package sops
