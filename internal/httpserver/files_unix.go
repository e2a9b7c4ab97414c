//go:build unix

package httpserver

import "golang.org/x/sys/unix"

// maxFiles returns how many files the process may open, or 0 if unknown.
func maxFiles() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30))
}
