package worker

import "golang.org/x/sys/unix"

// limitMemory makes the system refuse memory beyond the limit, because a single allocation can exceed it before the
// watch looks. The reserve is for Go's own tables and spare memory.
func limitMemory(bytes int64) {
	const reserve = 256 << 20
	limit := uint64(bytes + reserve)
	// without it the watch and the time limit remain
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
}
