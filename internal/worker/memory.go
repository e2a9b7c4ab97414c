package worker

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// SharedMemory is what the workers of several pools may use together. Each question may need all that a worker may use,
// so questions wait for each other where the memory is for one worker only. It is safe for concurrent use.
type SharedMemory struct {
	bytes int64
	free  *semaphore.Weighted
}

// NewSharedMemory returns so much memory.
func NewSharedMemory(bytes int64) *SharedMemory {
	return &SharedMemory{bytes, semaphore.NewWeighted(bytes)}
}

// take waits until a worker may use so many bytes. One that may use more than there is runs alone. A nil SharedMemory
// has no bound.
func (m *SharedMemory) take(ctx context.Context, bytes int64) (give func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	bytes = min(bytes, m.bytes)
	if err := m.free.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { m.free.Release(bytes) }, nil
}
