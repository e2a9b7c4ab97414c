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
	becomes := func(want uint64) {
		t.Helper()
		got := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		for range 1000 {
			runtime.GC()
			if metrics.Read(got); got[0].Value.Uint64() == want {
				return
			}
			time.Sleep(time.Millisecond) // cleanups run in a goroutine of their own
		}
		t.Errorf("the percentage is %d, not %d", got[0].Value.Uint64(), want)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(startPercent))
	afterCollection(startPercent) // whatever GOGC the tests have
	becomes(usualPercent)
	used := make([]byte, 2*large)
	becomes(largePercent)
	runtime.KeepAlive(used)
	becomes(usualPercent)
}
