// Package garbage decides how much memory the program may use before it is collected. Importing it is enough: by its
// path, and because it needs little, it is initialised before the packages that make most garbage. (Go initialises
// packages in the order of their paths, each after what it imports.)
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
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

// Go collects every two minutes although nothing needs memory, which is most of what a service takes that has nothing
// to do. After such a collection the next one comes when so much more memory is in use.
const (
	quiet = 110 * time.Second
	spare = 32 << 20 // bytes
)

var _ = set()

// set sets the percentage, now and after each collection. It respects GOGC.
func set() (isSet bool) {
	if _, isSet := os.LookupEnv("GOGC"); isSet {
		return false
	}
	debug.SetGCPercent(startPercent)
	afterCollection(policy{percent: startPercent, last: time.Now()})
	return true
}

// policy is when the next collection comes.
type policy struct {
	percent int       // negative: when memory is at its limit
	limit   int64     // of memory, that is kept to now
	usual   int64     // the limit before
	last    time.Time // when there was a collection
}

// afterCollection sets the policy after the next collection, and so on.
func afterCollection(p policy) {
	runtime.AddCleanup(new([64]byte), func(p policy) { afterCollection(p.next(time.Now())) }, p)
}

// next sets the policy after a collection, and returns it.
func (p policy) next(now time.Time) policy {
	before := p
	p.percent = percentOf(read("/gc/heap/live:bytes"))
	switch isQuiet := now.Sub(before.last) >= quiet; {
	case before.percent < 0 && debug.SetMemoryLimit(-1) == before.limit: // else somebody has set another one
		debug.SetMemoryLimit(before.usual)
	case before.percent >= 0 && isQuiet:
		used := read("/memory/classes/total:bytes") - read("/memory/classes/heap/released:bytes")
		p.percent, p.usual = -1, debug.SetMemoryLimit(-1)
		p.limit = min(p.usual, int64(used)+spare)
		debug.SetMemoryLimit(p.limit)
	}
	if p.percent != before.percent {
		debug.SetGCPercent(p.percent)
	}
	p.last = now
	return p
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

// read returns a metric of Go's runtime.
func read(name string) uint64 {
	of := []metrics.Sample{{Name: name}}
	metrics.Read(of)
	return of[0].Value.Uint64()
}
