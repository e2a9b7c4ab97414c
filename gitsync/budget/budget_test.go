package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const memory = 32 << 20 // a pass may need 8 MiB, and 1 MiB beside others

func TestAPassMayNeedAQuarter(t *testing.T) {
	t.Parallel()
	b := New(memory)
	p := b.Pass(t.Context())
	for range 8 {
		if err := p.Take(1 << 20); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Take(1); !errors.Is(err, ErrExceeded) {
		t.Errorf("got %v", err)
	}
	p.End()
	if err := b.Pass(t.Context()).Take(memory / 4); err != nil {
		t.Errorf("the next pass: %v", err)
	}
}

func TestSpareWorkTakesWhatIsLeft(t *testing.T) {
	t.Parallel()
	p := New(memory).Pass(t.Context())
	spare := p.Spare()
	if err := spare.Take(1 << 20); err != nil {
		t.Errorf("what a pass may need beside others: %v", err)
	}
	if err := spare.Take(1); !errors.Is(err, ErrExceeded) {
		t.Errorf("more than that, which the pass would wait for: %v", err)
	}
	if err := p.Take(6 << 20); err != nil {
		t.Fatal(err)
	}
	if err := spare.Take(2 << 20); !errors.Is(err, ErrExceeded) {
		t.Errorf("more than the pass may need: %v", err)
	}
	if err := p.Take(1 << 20); err != nil {
		t.Errorf("what the spare work did not get is gone: %v", err)
	}
	p.End()
}

func TestTheLeastLimitOfMemoryCounts(t *testing.T) {
	t.Parallel()
	none := func() (uint64, error) { return 0, memlimit.ErrNoLimit }
	for name, test := range map[string]struct {
		cgroup, machine memlimit.Provider
		want            int64
	}{
		"a container":                    {memlimit.Limit(1 << 30), memlimit.Limit(64 << 30), 1 << 30},
		"a machine":                      {none, memlimit.Limit(64 << 30), 64 << 30},
		"a limit above the machine":      {memlimit.Limit(128 << 30), memlimit.Limit(64 << 30), 64 << 30},
		"a limit above all numbers":      {memlimit.Limit(1<<64 - 1), memlimit.Limit(64 << 30), 64 << 30},
		"a machine that says nothing":    {none, none, defaultMemory},
		"a machine that says nothing, 0": {none, memlimit.Limit(0), defaultMemory},
	} {
		if got := available(test.cgroup, test.machine); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestOnePassAtATimeNeedsMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(memory)
		first, second, small := b.Pass(t.Context()), b.Pass(t.Context()), b.Pass(t.Context())
		if err := first.Take(2 << 20); err != nil {
			t.Fatal(err)
		}
		if err := small.Take(1 << 20); err != nil {
			t.Errorf("a pass that needs little waits: %v", err)
		}
		began := make(chan time.Time)
		go func() {
			if err := second.Take(2 << 20); err != nil {
				t.Error(err)
			}
			began <- time.Now()
		}()
		start := time.Now()
		time.Sleep(time.Minute)
		first.End()
		if waited := (<-began).Sub(start); waited != time.Minute {
			t.Errorf("waited %s", waited)
		}
		second.End()
		second.End() // does nothing
	})
}

func TestWhoWaitsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(memory)
		if err := b.Pass(t.Context()).Take(2 << 20); err != nil {
			t.Fatal(err)
		}
		why := errors.New("the pass took too long")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
		defer cancel()
		waiting := b.Pass(ctx)
		if err := waiting.Take(2 << 20); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
		if err := waiting.Take(0); err == nil {
			t.Error("a pass that has ended goes on")
		}
	})
}

func TestWorkTakesASixthAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(memory)
		huge, err := b.Work(t.Context(), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Work(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside work that takes everything: %v", err)
		}
		huge()
		done, err := b.Work(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		done()
	})
}
