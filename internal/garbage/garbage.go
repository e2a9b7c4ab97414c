// Package garbage decides how much memory the program may use before it is collected. Importing it is enough: by its
// path, and because it needs little, it is initialised before the packages that make most garbage. (Go initialises
// packages in the order of their paths, each after what it imports.)
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The percentages of what is in use after a collection by which the heap may grow until the next. As long as it is
// small, nothing is collected: most commands make too little garbage to be worth the time. A large heap may grow by
// less, because its garbage is most of the memory that the program takes, and collecting it twice as often costs a few
// percent of the time. A memory limit is kept to all the same.
const (
	startPercent = 100 * small / (4 << 20) // of the 4 MB with which Go begins
	usualPercent = 100
	largePercent = 50
	small        = 48 << 20 // bytes, with the garbage
	large        = 64 << 20 // bytes in use
)

var _ = set()

// set sets the percentage, now and after each collection. It respects GOGC.
func set() (isSet bool) {
	if _, isSet := os.LookupEnv("GOGC"); isSet {
		return false
	}
	debug.SetGCPercent(startPercent)
	afterCollection(startPercent)
	return true
}

// afterCollection sets the percentage after the next collection, and so on.
func afterCollection(percent int) {
	runtime.AddCleanup(new([64]byte), func(percent int) {
		now := percentOf(inUse())
		if now != percent {
			debug.SetGCPercent(now)
		}
		afterCollection(now)
	}, percent)
}

// percentOf returns the percentage for a heap with so many bytes in use.
func percentOf(bytes uint64) int {
	switch {
	case bytes >= large:
		return largePercent
	case bytes >= small/2:
		return usualPercent
	}
	return int(100*small/max(bytes, 1<<20)) - 100
}

// inUse returns the bytes that the last collection found in use.
func inUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
