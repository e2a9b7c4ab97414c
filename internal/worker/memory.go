package worker

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"golang.org/x/sync/semaphore"
)

// SharedMemory limits the memory that the workers of several pools may use together. Each question reserves a worker's
// whole limit, so questions wait for each other if the memory is too small for all. While they run, the collector of
// this process leaves them that memory, as far as it can. It is safe for concurrent use.
type SharedMemory struct {
	bytes int64
	free  *semaphore.Weighted

	mu       sync.Mutex
	own      int64 // the limit of this process without workers
	reserved int64
}

// workersPart is the part of the memory of a process that workers get, as a divisor.
const workersPart = 3

// NewSharedMemory returns a limit for the workers of a process that has so many bytes of memory, for itself and its
// workers: a third of them.
func NewSharedMemory(bytes int64) *SharedMemory {
	return &SharedMemory{bytes: bytes / workersPart, free: semaphore.NewWeighted(bytes / workersPart),
		own: debug.SetMemoryLimit(-1)}
}

// limit returns the memory of one worker: at most all that workers have.
func (m *SharedMemory) limit(bytes int64) int64 {
	if m == nil {
		return bytes
	}
	return min(bytes, m.bytes)
}

// reserve leaves so many bytes more to workers, or less. The collector keeps to a lower limit from its next cycle on,
// which may be later than a worker needs the memory: what this process has above the limit is returned at once.
func (m *SharedMemory) reserve(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved += bytes
	if m.own == math.MaxInt64 {
		return
	}
	limit := m.own - m.reserved
	debug.SetMemoryLimit(limit)
	if bytes > 0 && inUse() > limit {
		debug.FreeOSMemory()
	}
}

// inUse returns the bytes of this process that count for its memory limit.
func inUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// take waits until so many bytes are free and reserves them. A nil SharedMemory has no limit.
func (m *SharedMemory) take(ctx context.Context, bytes int64) (release func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	bytes = m.limit(bytes)
	if m.free.Acquire(ctx, bytes) != nil {
		return nil, context.Cause(ctx)
	}
	m.reserve(bytes)
	return func() {
		m.reserve(-bytes)
		m.free.Release(bytes)
	}, nil
}
