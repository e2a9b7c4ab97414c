package garbage

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestALargeHeapGrowsLess: the percentage follows what each collection finds in use.
func TestALargeHeapGrowsLess(t *testing.T) {
	becomes := func(least, most uint64) {
		t.Helper()
		got := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		for range 1000 {
			runtime.GC()
			if metrics.Read(got); least <= got[0].Value.Uint64() && got[0].Value.Uint64() <= most {
				return
			}
			time.Sleep(time.Millisecond) // cleanups run in a goroutine of their own
		}
		t.Errorf("the percentage is %d, not %d to %d", got[0].Value.Uint64(), least, most)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(startPercent))
	afterCollection(startPercent)          // whatever GOGC the tests have
	becomes(usualPercent+1, 100*small>>20) // until the heap has 48 MB
	used := make([]byte, small)
	becomes(usualPercent, usualPercent)
	runtime.KeepAlive(used)
	used = make([]byte, 2*large)
	becomes(largePercent, largePercent)
	runtime.KeepAlive(used)
	becomes(usualPercent+1, 100*small>>20)
}
