package fleet

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestUnusedMemoryIsSeen: what nobody uses any more counts until it is returned to the system. The test does not run at
// the same time as others, which make and free memory, and nothing else collects in the meantime.
func TestUnusedMemoryIsSeen(t *testing.T) {
	const size = 256 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	debug.FreeOSMemory()
	before := unused()
	runtime.KeepAlive(make([]byte, size))
	if got := unused() - before; got < size/2 {
		t.Errorf("%d of %d unused bytes are seen", got, size)
	}
	debug.FreeOSMemory()
	if got := unused(); got > size/2 {
		t.Errorf("%d bytes are unused after all were returned", got)
	}
}
