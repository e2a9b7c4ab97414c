package fleet

import (
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// releaseAfter is how long the fleet must be idle before unused memory is returned to the system.
const releaseAfter = 10 * time.Second

// memory bounds what all instances together keep between passes. Least recently used instances
// are evicted first. It is safe for concurrent use.
type memory struct {
	limit int64 // bytes

	mu    sync.Mutex
	kept  map[*instance]usage
	total int64
	// release returns memory to the system once the fleet is idle, which it may be for days: Go's runtime
	// itself would keep twice the memory that is in use.
	release alarm
}

// usage is the memory that one instance uses.
type usage struct {
	bytes int64
	last  time.Time // when its last pass ended
}

func newMemory(limit int64) *memory { return &memory{limit: limit, kept: map[*instance]usage{}} }

// bytes returns the memory that all instances together use.
func (m *memory) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// used records what an instance keeps after a pass, and evicts others if that is too much.
func (m *memory) used(inst *instance, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(inst, usage{bytes, time.Now()})
	m.evict()
	m.release.set(releaseAfter, debug.FreeOSMemory)
}

// drop removes an instance that is closed.
func (m *memory) drop(inst *instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(inst, usage{})
}

// stop cancels the pending release.
func (m *memory) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release.stop()
}

// set replaces the usage of an instance. m.mu is held.
func (m *memory) set(inst *instance, u usage) {
	m.total += u.bytes - m.kept[inst].bytes
	if m.kept[inst] = u; u.bytes == 0 {
		delete(m.kept, inst)
	}
}

// evict makes instances forget their caches until all together are within the limit. m.mu is held.
func (m *memory) evict() {
	if m.total <= m.limit {
		return
	}
	all := make([]*instance, 0, len(m.kept))
	for inst := range m.kept {
		all = append(all, inst)
	}
	slices.SortFunc(all, func(a, b *instance) int { return m.kept[a].last.Compare(m.kept[b].last) })
	for _, inst := range all {
		if m.total <= m.limit {
			return
		}
		if inst.use.tryTake() { // else it is in use, and the end of the next pass evicts again
			inst.syncer.Forget()
			inst.explained.Store(nil)
			m.set(inst, usage{inst.syncer.Size(), m.kept[inst].last})
			inst.use.give()
		}
	}
}
