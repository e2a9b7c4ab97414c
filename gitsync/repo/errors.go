package repo

import "errors"

// Errors that callers check for, in addition to those of package transport. Errors of this package wrap them.
var (
	// ErrEmptyRepository means that the remote has no refs.
	ErrEmptyRepository = errors.New("remote repository is empty")
	// ErrCache means that the cache cannot be written, because the disk is full or permission is missing. Nothing in
	// the cache is lost, and the next call tries again.
	ErrCache = errors.New("cache directory cannot be used")

	// ErrFiles means that the process or the machine has too many open files.
	ErrFiles = errors.New("too many files are open")

	// ErrLostRace means that a ref has moved to a value that is neither the expected one nor the new one.
	ErrLostRace = errors.New("ref was moved by someone else")
	// ErrHeldBack means that a ref was not moved because another ref of the same push could not be moved.
	ErrHeldBack = errors.New("held back with the other refs")
	// ErrRejected means that the remote refused the push.
	ErrRejected = errors.New("push was rejected by the remote")
)
