package worker

import (
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// limitMemory makes the kernel refuse memory beyond the limit, because a single allocation can exceed it between two
// checks. The reserve is for the Go runtime's own memory. If the container has no more, this process is the first that
// the kernel kills, and not the one that asks.
func limitMemory(bytes int64) {
	const first = "1000"
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(first), 0) // without the file any process can be killed
	const reserve = 64 << 20
	limit := uint64(bytes + reserve + raceReserve)
	// if this fails, the periodic check and the time limit remain
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
}

// Confine makes the kernel refuse this process to write files, to leave a core, and to have many files open.
func Confine() {
	const files = 64
	for what, limit := range map[int]uint64{unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: files} {
		_ = unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}) // nobody is refused a lower limit
	}
}

// inheritedCPU returns the processor time that workers get from whoever started this program, as with ulimit -t.
func inheritedCPU() time.Duration {
	var of unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CPU, &of) != nil || of.Cur > uint64(math.MaxInt64/time.Second) {
		return math.MaxInt64
	}
	return time.Duration(of.Cur) * time.Second
}

// busy returns the processor time that the process has taken.
func busy() time.Duration {
	var of unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &of) != nil {
		return 0
	}
	return time.Duration(of.Utime.Nano() + of.Stime.Nano())
}
