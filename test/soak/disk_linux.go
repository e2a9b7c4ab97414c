package main

import (
	"fmt"
	"syscall"

	"github.com/agentry-dev/agentry/test/isolate"
)

// smallDisk mounts a small disk at a folder. It returns false where that is not allowed.
func smallDisk(dir string, bytes int) bool {
	return isolate.Inside() && syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)) == nil
}

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
