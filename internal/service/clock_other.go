//go:build !linux

package service

// monotonicMicros is for systemd, which is on Linux only.
func monotonicMicros() int64 { return 0 }
