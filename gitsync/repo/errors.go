package repo

import "errors"

// What a caller branches on, besides the errors of package transport. Errors of this package wrap them.
var (
	// ErrEmptyRepository means that the remote has no ref at all.
	ErrEmptyRepository = errors.New("remote repository is empty")
	// ErrCache means that the cache cannot be written: the disk is full, or we lack the right. Nothing in
	// the cache is lost, and the next call tries again.
	ErrCache = errors.New("cache directory cannot be used")

	// ErrLostRace means that a ref has moved to a value that is neither the
	// expected old one nor ours.
	ErrLostRace = errors.New("ref was moved by someone else")
	// ErrHeldBack means that a ref was not moved because another ref of the same
	// push could not be.
	ErrHeldBack = errors.New("held back with the other refs")
	// ErrRejected means that the remote answered and refused the push.
	ErrRejected = errors.New("push was rejected by the remote")
)
