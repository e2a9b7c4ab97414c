package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockPoll is the time between two attempts to take a lock that another process holds.
const lockPoll = 20 * time.Millisecond

// fileLock is an exclusive lock between processes. The kernel releases it when its holder dies.
type fileLock struct {
	file *os.File
}

// lockFile takes the lock, and waits for it until ctx ends.
func lockFile(ctx context.Context, name string) (*fileLock, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open cache lock: %w", err)
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return &fileLock{f}, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock cache: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another process to release the cache: %w", context.Cause(ctx)),
				f.Close())
		case <-tick.C:
		}
	}
}

// unlock releases the lock.
func (l *fileLock) unlock() {
	_ = l.file.Close() // closing releases the lock even if it fails
}
