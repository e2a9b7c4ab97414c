//go:build !linux

package worker

import (
	"math"
	"time"
)

func limitMemory(int64) {}

// Confine does nothing here.
func Confine() {}

// inheritedCPU is not known here.
func inheritedCPU() time.Duration { return math.MaxInt64 }

// busy is not known here: the limit of time remains.
func busy() time.Duration { return 0 }
