//go:build !linux

package service

// monotonicMicros is for systemd, which exists only on Linux.
func monotonicMicros() int64 { return 0 }
