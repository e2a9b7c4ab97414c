package worker

import "golang.org/x/sys/unix"

// limitMemory makes the system refuse what a single allocation would take beyond the limit, before anybody could look.
// Go's own tables and what it keeps in reserve come on top.
func limitMemory(bytes int64) {
	const reserve = 256 << 20
	limit := uint64(bytes + reserve)
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}) // without it the watch and the time limit remain
}
