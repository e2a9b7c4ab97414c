package service

import "golang.org/x/sys/unix"

// monotonicMicros reads CLOCK_MONOTONIC, which package time does not expose.
func monotonicMicros() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return now.Nano() / 1000
}
