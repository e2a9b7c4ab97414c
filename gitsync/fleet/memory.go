package fleet

import (
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
	"weak"
)

const (
	// releaseAfter is how long the fleet must be idle before unused memory is returned to the system.
	releaseAfter = 10 * time.Second
	// releaseBytes is how much a round must have left for that.
	releaseBytes = 64 << 20
)

// memory bounds what all instances together keep between passes. Least recently used instances are evicted first. The
// names that a search finds outlive the rest, as long as they take no more than half of the memory. It is safe for
// concurrent use.
type memory struct {
	limit int64 // bytes

	mu    sync.Mutex
	kept  map[*instance]usage
	total usage
	// release returns memory to the system once the fleet is idle, which it may be for days: Go's runtime
	// itself would keep twice the memory that is in use.
	release alarm
}

// usage is the memory that one instance uses.
type usage struct {
	bytes int64     // of what the next pass would read again
	names int64     // of its index
	last  time.Time // when its last pass ended
}

func (u usage) sum() int64 { return u.bytes + u.names }

func newMemory(limit int64) *memory { return &memory{limit: limit, kept: map[*instance]usage{}} }

// bytes returns the memory that all instances together use.
func (m *memory) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total.sum()
}

// used records what an instance keeps after a pass, and evicts others if that is too much.
func (m *memory) used(inst *instance, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(inst, usage{bytes, inst.names.Load().bytes(), time.Now()})
	m.evict()
	m.release.set(releaseAfter, m.free)
}

// roundEnded returns memory to the system after a round that left much, such as one that has joined packs.
func (m *memory) roundEnded() {
	if unused() < releaseBytes {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.release.isSet() { // rounds of many remotes are never far apart
		m.release.set(releaseAfter, m.free)
	}
}

// free returns unused memory to the system.
func (m *memory) free() {
	m.mu.Lock()
	m.release.stop()
	m.mu.Unlock()
	debug.FreeOSMemory()
}

// unused returns the bytes of the heap that nothing uses, or has used when memory was collected last.
func unused() uint64 {
	of := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"}}
	metrics.Read(of)
	objects, free, live := of[0].Value.Uint64(), of[1].Value.Uint64(), of[2].Value.Uint64()
	return max(objects, live) - live + free
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
	m.total.bytes += u.bytes - m.kept[inst].bytes
	m.total.names += u.names - m.kept[inst].names
	if m.kept[inst] = u; u.sum() == 0 {
		delete(m.kept, inst)
	}
}

// evict makes instances forget their caches until all together are within the limit, and names if they alone are
// more than half of it. m.mu is held.
func (m *memory) evict() {
	if m.total.sum() <= m.limit && m.total.names <= m.limit/2 {
		return
	}
	all := make([]*instance, 0, len(m.kept))
	for inst := range m.kept {
		all = append(all, inst)
	}
	slices.SortFunc(all, func(a, b *instance) int { return m.kept[a].last.Compare(m.kept[b].last) })
	for _, inst := range all {
		if m.total.names <= m.limit/2 {
			break
		}
		inst.names.Store(&names{of: weak.Make(inst.explained.Load())})
		m.set(inst, usage{bytes: m.kept[inst].bytes, last: m.kept[inst].last})
	}
	for _, inst := range all {
		if m.total.sum() <= m.limit {
			return
		}
		// One that is in use is left: the end of the next pass evicts again.
		if m.kept[inst].bytes > 0 && inst.use.tryTake() {
			inst.syncer.Forget()
			inst.explained.Store(nil)
			m.set(inst, usage{inst.syncer.Size(), m.kept[inst].names, m.kept[inst].last})
			inst.use.give()
		}
	}
}
