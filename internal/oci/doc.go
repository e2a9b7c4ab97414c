// Package oci pushes what an output branch holds as an artifact that Flux's OCIRepository
// takes.
//
// An artifact is a function of an output commit: the same commit makes the same bytes and so the
// same digest, on whatever replica. Its files are those below the output path, sorted, with
// owners and times of zero and the modes 0644, 0755; symlinks, submodules and what Git does not
// know are not in it. What it says about itself comes from hydrator.metadata, which stands on
// every output commit: the revision annotation is the input commit, which Flux reports as the
// origin revision and sets commit statuses on, and the date is that commit's.
//
// Two tags point to it: the moving one, and one with the input commit, which is never moved:
// where it points to something else already, as when another version of agentry rendered the
// same input, the output commit is added to it. Nothing is sent when the moving tag points to
// the digest already.
//
// google/go-containerregistry sends it, as in Flux itself: +1.1 MiB of binary and 8 modules,
// where oras-go would be 0.7 and 3. Its in-process registry is what tests need anyway, so
// that one library is kept instead of two. Below it goes what it does not do: no plain HTTP unless
// asked for (it falls back to that for addresses which look local, with the password), a bound on
// answers, and errors without credentials.
package oci
