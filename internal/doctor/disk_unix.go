//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// freeBytes returns how much an ordinary user may write to the file system of a folder.
func freeBytes(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
