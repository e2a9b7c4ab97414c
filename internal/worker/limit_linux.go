package worker

import "golang.org/x/sys/unix"

// limitMemory makes the kernel refuse memory beyond the limit, because a single allocation can exceed it between two
// checks. The reserve is for the Go runtime's own memory.
func limitMemory(bytes int64) {
	const reserve = 256 << 20
	limit := uint64(bytes + reserve)
	// if this fails, the periodic check and the time limit remain
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
}
