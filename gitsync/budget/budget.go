// Package budget bounds the memory that pipelines use, so that no repository, however hostile, can end the process and
// with it all other pipelines.
//
// The bounds are parts of the memory of the process. A [Pass] reserves the estimated memory of everything that it keeps
// and renders beforehand. A pass that needs more than a quarter of the memory ([New]), or three if it is the only one
// of the process ([ForOne]), fails alone. Small passes run in parallel, large ones one after the other
// ([Pass.Take]). Unpacking and parsing, in all passes and fetches together, may use a sixth ([Budget.Work]).
//
// Package manifest bounds single files, documents and values.
package budget

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"golang.org/x/sync/semaphore"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// defaultMemory is the assumed memory, in bytes, of a machine whose memory is unknown.
const defaultMemory = 2 << 30

// The bounds, as divisors of the memory of the process.
const (
	passPart  = 4  // for one pass
	workPart  = 6  // for unpacking and parsing at one moment
	sharePart = 32 // for a pass that runs beside others
)

// ErrExceeded means that a pass needs more memory than allowed.
var ErrExceeded = fmt.Errorf("%w: a pass needs too much memory", limit.ErrTooLarge)

// Budget is the memory budget of a process. It is safe for concurrent use.
type Budget struct {
	pass, share, workMax int64
	work                 *semaphore.Weighted
	large                chan struct{} // a semaphore of one, for passes that need more than share
}

// New returns the budget of a process with the given bytes of memory. Zero means its memory limit (GOMEMLIMIT), or
// without one nine tenths of the memory of its cgroup or machine.
func New(memory int64) *Budget {
	if memory <= 0 {
		memory = Memory()
	}
	b := &Budget{pass: memory / passPart, share: memory / sharePart, workMax: memory / workPart,
		large: make(chan struct{}, 1)}
	b.work = semaphore.NewWeighted(b.workMax)
	return b
}

// ForOne returns the budget of a process that makes one pass after the other, and keeps nothing between them.
func ForOne(memory int64) *Budget {
	b := New(memory)
	b.pass = b.pass * passPart / 4 * 3
	return b
}

// Memory returns the memory of the process in bytes: its memory limit (GOMEMLIMIT), or without one nine tenths of the
// memory of its cgroup or machine. It is what the process began with, whatever the limit is now.
var Memory = sync.OnceValue(func() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return Available() / 10 * 9
})

// Available returns the memory of the container or machine in bytes.
func Available() int64 { return available(memlimit.FromCgroup, memlimit.FromSystem) }

// available returns the lowest known limit.
func available(limits ...memlimit.Provider) int64 {
	least := uint64(math.MaxInt64)
	for _, limit := range limits {
		if bytes, err := limit(); err == nil && bytes > 0 {
			least = min(least, bytes)
		}
	}
	if least == math.MaxInt64 {
		return defaultMemory
	}
	return int64(least)
}

// Work waits until that many bytes are free for unpacking or parsing. The caller must call done to return them. Work
// that needs more than the budget runs alone.
func (b *Budget) Work(ctx context.Context, bytes int64) (done func(), err error) {
	bytes = min(bytes, b.workMax)
	if err := b.work.Acquire(ctx, bytes); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { b.work.Release(bytes) }, nil
}

// Pass is the part of a [Budget] that one pass uses. It is safe for concurrent use.
type Pass struct {
	ctx    context.Context // of the pass, whose lifetime this is; its end ends all waiting
	budget *Budget

	mu    sync.Mutex
	taken int64
	large bool
	of    *Pass // nil unless it is spare
}

// Pass begins a pass. The caller must end it.
func (b *Budget) Pass(ctx context.Context) *Pass { return &Pass{ctx: ctx, budget: b} }

// Take reserves bytes until the end of the pass. It makes a large pass wait for another one. It returns [ErrExceeded]
// if the pass needs too much, and the cause once the pass's context has ended.
func (p *Pass) Take(bytes int64) error {
	if p.of != nil {
		return p.of.takeSpare(bytes)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken += bytes
	switch {
	case p.taken > p.budget.pass:
		return fmt.Errorf("%w, and may use %d MiB of the %d MiB of this process", ErrExceeded, p.budget.pass>>20,
			p.budget.workMax*workPart>>20)
	case p.large || p.taken <= p.budget.share:
		return context.Cause(p.ctx)
	}
	select {
	case p.budget.large <- struct{}{}:
		p.large = true
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// Taken returns how many bytes the pass has taken.
func (p *Pass) Taken() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// Limit returns how many bytes the pass may take in all.
func (p *Pass) Limit() int64 { return p.budget.pass }

// Spare returns the pass for work that it can do without. Such work takes what is left: it gets [ErrExceeded] where the
// pass would have to wait, and leaves to the pass what it did not get.
func (p *Pass) Spare() *Pass { return &Pass{ctx: p.ctx, budget: p.budget, of: p} }

func (p *Pass) takeSpare(bytes int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := p.budget.share
	if p.large {
		limit = p.budget.pass
	}
	if p.taken+bytes > limit {
		return ErrExceeded
	}
	p.taken += bytes
	return context.Cause(p.ctx)
}

// Context returns the context of the pass.
func (p *Pass) Context() context.Context { return p.ctx }

// Work is [Budget.Work] with the context of the pass.
func (p *Pass) Work(bytes int64) (done func(), err error) { return p.budget.Work(p.ctx, bytes) }

// End ends the pass and returns its memory to the budget.
func (p *Pass) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.large {
		p.large = false
		<-p.budget.large
	}
}
