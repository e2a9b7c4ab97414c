package garbage

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestALargeHeapGrowsLess: the percentage follows what each collection finds in use.
func TestALargeHeapGrowsLess(t *testing.T) {
	becomes := func(least, most uint64) {
		t.Helper()
		var got uint64
		for range 1000 {
			runtime.GC()
			if got = read("/gc/gogc:percent"); least <= got && got <= most {
				return
			}
			time.Sleep(time.Millisecond) // cleanups run in a goroutine of their own
		}
		t.Errorf("the percentage is %d, not %d to %d", got, least, most)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(startPercent))
	afterCollection(policy{percent: startPercent, last: time.Now()}) // whatever GOGC the tests have
	becomes(usualPercent+1, 100*small>>20)                           // until the heap has 48 MB
	used := make([]byte, small)
	becomes(usualPercent, usualPercent)
	runtime.KeepAlive(used)
	used = make([]byte, 2*large)
	becomes(largePercent, largePercent)
	runtime.KeepAlive(used)
	becomes(usualPercent+1, 100*small>>20)
}

// TestNothingIsCollectedAtRest: after a collection for which there was no need, the next one comes when memory is
// needed, and then all is as before.
func TestNothingIsCollectedAtRest(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	limit, now := debug.SetMemoryLimit(-1), time.Now()
	defer debug.SetMemoryLimit(limit)
	runtime.GC()
	p := policy{percent: usualPercent, last: now}.next(now.Add(quiet - time.Second))
	if got := read("/gc/gogc:percent"); got > 100*small>>20 || p.percent < 0 {
		t.Fatalf("a percentage of %d after a time that is not quiet", got)
	}
	p = p.next(now.Add(2 * quiet))
	if got, to := read("/gc/gogc:percent"), debug.SetMemoryLimit(-1); got <= 100*small>>20 || to >= limit {
		t.Fatalf("at rest, a percentage of %d and a limit of %d bytes", got, to)
	}
	before := read("/gc/cycles/total:gc-cycles")
	for range 1000 {
		runtime.KeepAlive(make([]byte, spare/100))
	}
	if got := read("/gc/cycles/total:gc-cycles") - before; got == 0 || got > 100 {
		t.Errorf("%d collections of ten times what is spare", got)
	}
	check := func(limit int64) {
		t.Helper()
		p = p.next(now.Add(3 * quiet))
		if got, to := read("/gc/gogc:percent"), debug.SetMemoryLimit(-1); int(got) != p.percent || to != limit {
			t.Errorf("afterwards, a percentage of %d and a limit of %d bytes, not %d and %d", got, to, p.percent, limit)
		}
	}
	check(limit)
	p = p.next(now.Add(5 * quiet))
	const others = 1 << 40
	debug.SetMemoryLimit(others) // at rest, and then it stays
	check(others)
}
