//go:build !linux

package worker

import "time"

func limitMemory(int64) {}

// Confine does nothing here.
func Confine() {}

// busy is not known here: the limit of time remains.
func busy() time.Duration { return 0 }
