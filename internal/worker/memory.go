package worker

import (
	"context"
	"math"
	"runtime/debug"
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

// reserve leaves so many bytes more to workers, or less.
func (m *SharedMemory) reserve(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reserved += bytes; m.own < math.MaxInt64 {
		debug.SetMemoryLimit(m.own - m.reserved)
	}
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
