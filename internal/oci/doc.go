// Package oci pushes the content of an output branch as an artifact for Flux's OCIRepository.
//
// An artifact depends only on the output commit: the same commit has the same bytes and digest on every replica. It
// contains the files below the output path, sorted, with zero owners and times and the modes 0644 and 0755, but no
// symlinks, submodules or untracked files. Its annotations come from hydrator.metadata, which every output commit has:
// the revision annotation is the input commit, which Flux reports as the origin revision and sets commit statuses on,
// and the date is the date of that commit.
//
// Two tags point to an artifact: a moving one, and one with the input commit, which never moves. If the latter points
// to another artifact, because another version of agentry rendered the same input, the output commit is added to the
// tag. Nothing is sent if the moving tag already points to the digest.
//
// The package uses google/go-containerregistry, like Flux itself. It adds 1.1 MiB to the binary and 8 modules; oras-go
// would add 0.7 MiB and 3 modules, but has no in-process registry for the tests. This package adds what the library
// lacks: plain HTTP only if configured (the library falls back to it for addresses that look local, with the
// password), a limit on responses, and errors without credentials.
package oci
