package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorkersShareMemory: in memory for one large worker, two run one after the other, whatever pools they are of.
func TestWorkersShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const container, large, small = 1 << 30, defaultMemory, 64 << 20
		m := NewSharedMemory(3 * container)
		give, err := m.take(t.Context(), large)
		if err != nil {
			t.Fatal(err)
		}
		giveSmall, err := m.take(t.Context(), small)
		if err != nil {
			t.Fatal(err)
		}
		giveSmall()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.take(late, large); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second large one: %v", err)
		}
		give()
		for range 2 {
			give, err := m.take(t.Context(), 4*container)
			if err != nil {
				t.Error("one that needs more than there is never runs")
			}
			give()
		}
	})
}

// TestAQuestionWaitsForMemory: no process is started before.
func TestAQuestionWaitsForMemory(t *testing.T) {
	m := NewSharedMemory(3)
	give, err := m.take(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer give()
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("the pass took too long")
	cancel(late)
	p := NewPool(Options{Command: []string{"/nonexistent"}, Memory: m})
	if _, err := p.Ask(ctx, Question{}); !errors.Is(err, late) {
		t.Errorf("got %v", err)
	}
}

// TestWhatIsKilledIsTriedOnceMore: the kernel kills a worker if the container has no memory left for it.
func TestWhatIsKilledIsTriedOnceMore(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := NewPool(Options{Command: []string{"/bin/sh", "-c", `echo >> "$0"; kill -9 $$`, log}})
	defer p.Close()
	_, err := p.Ask(t.Context(), Question{})
	broken, ok := errors.AsType[*Broken](err)
	starts, readErr := os.ReadFile(log)
	if !ok || broken.Reason != Killed || readErr != nil || len(starts) != 2 {
		t.Errorf("got %v after %d starts", err, len(starts))
	}
}

// TestWorkersGetTheirMemoryAtOnce: what this process has used and needs no more goes to the system before a worker
// runs, because together they would be more than the container has.
func TestWorkersGetTheirMemoryAtOnce(t *testing.T) {
	const limit, garbage = 512 << 20, 256 << 20
	debug.FreeOSMemory()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing else collects in the meantime
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	m := NewSharedMemory(limit)
	used := make([]byte, garbage)
	if used[garbage-1] != 0 || inUse() < garbage {
		t.Fatalf("%d MiB are in use", inUse()>>20)
	}
	m.own = inUse() // all that this process may have
	give, err := m.take(t.Context(), limit/workersPart)
	if err != nil {
		t.Fatal(err)
	}
	defer give()
	if got := inUse(); got > m.own-limit/workersPart {
		t.Errorf("%d MiB are still in use, of %d", got>>20, m.own>>20)
	}
}
