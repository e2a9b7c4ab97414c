package worker

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// SharedMemory limits the memory that the workers of several pools may use together. Each question reserves a worker's
// whole limit, so questions wait for each other if the memory is too small for all. It is safe for concurrent use.
type SharedMemory struct {
	bytes int64
	free  *semaphore.Weighted
}

// NewSharedMemory returns a limit of so many bytes.
func NewSharedMemory(bytes int64) *SharedMemory {
	return &SharedMemory{bytes, semaphore.NewWeighted(bytes)}
}

// take waits until so many bytes are free and reserves them. A worker that may use more than the whole runs alone. A
// nil SharedMemory has no limit.
func (m *SharedMemory) take(ctx context.Context, bytes int64) (release func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	bytes = min(bytes, m.bytes)
	if err := m.free.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { m.free.Release(bytes) }, nil
}
