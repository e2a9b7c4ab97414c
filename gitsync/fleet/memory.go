package fleet

import (
	"cmp"
	"runtime/debug"
	"slices"
	"time"
)

// restAfter is how long no pass must have ended until a fleet counts as resting.
const restAfter = 10 * time.Second

// restLater gives memory that passes needed back to the system when the fleet rests: it may
// rest for days, and the runtime by itself keeps as much again as is in use. f.mu is held.
func (f *Fleet) restLater() { f.rest.set(restAfter, debug.FreeOSMemory) }

// resize takes note of what an instance keeps between passes. f.mu is held.
func (f *Fleet) resize(at *instance, size int64) {
	f.kept += size - at.size
	at.size = size
}

// trim makes those that have rested longest forget, until all together keep no more than they
// may. f.mu is held.
func (f *Fleet) trim() {
	if f.kept <= f.options.MemoryBytes {
		return
	}
	var idle []*instance
	for _, p := range f.pipelines {
		if p.at != nil && p.at.size > 0 && !p.running {
			idle = append(idle, p.at)
		}
	}
	slices.SortFunc(idle, func(a, b *instance) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for _, at := range idle {
		if f.kept <= f.options.MemoryBytes {
			return
		}
		if at.use.tryTake() { // else a round renews its credentials: the next pass trims again
			at.Forget()
			f.resize(at, at.Size())
			at.use.give()
		}
	}
}
