package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// isDiskError reports whether the local disk is the cause, for example full or read-only. A new clone would fail too.
func isDiskError(err error) bool {
	_, onPath := errors.AsType[*fs.PathError](err)
	_, onLink := errors.AsType[*os.LinkError](err)
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok || !onPath && !onLink {
		return false
	}
	switch errno {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.EFBIG, syscall.EIO,
		syscall.ENOTDIR, syscall.EMFILE, syscall.ENFILE:
		return true
	}
	return false
}

// explainDisk wraps an error of the local disk in [ErrCache] or, for too many open files, in [ErrFiles].
func explainDisk(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrCache) || errors.Is(err, ErrFiles):
		return err
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: %w", ErrFiles, err)
	case isDiskError(err):
		return fmt.Errorf("%w: %w", ErrCache, err)
	}
	return err
}
