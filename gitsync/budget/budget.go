// Package budget bounds the memory that pipelines need, so that no repository, however hostile, ends the process and
// with it all other pipelines. All of these bounds are here.
//
// They are parts of the memory of the process ([New]). A [Pass] is charged for what it keeps and renders, by estimate
// and before it is done; a pass that needs more than a quarter of the process fails, and no other one does. Passes that
// need little run in parallel, those that need much one after the other ([Pass.Take]). Unpacking and parsing, in all
// passes and fetches together, may use a sixth ([Budget.Work]).
//
// Files, documents and values have bounds of their own, for which no budget is needed: see package manifest.
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

// defaultMemory is the memory of a machine that does not say how much it has, in bytes.
const defaultMemory = 2 << 30

// Parts of the memory of the process.
const (
	passPart  = 4  // what one pass may need
	workPart  = 6  // what is unpacked and parsed at one moment
	sharePart = 32 // what a pass may need beside others
)

// ErrExceeded means that a pass needs more memory than it may.
var ErrExceeded = fmt.Errorf("%w: one pass may need a quarter of the memory", limit.ErrTooLarge)

// Budget is that of a process. It is safe for concurrent use.
type Budget struct {
	pass, share, workMax int64
	work                 *semaphore.Weighted
	large                chan struct{} // has room for one pass that needs more than its share
}

// New returns the budget of a process with so many bytes of memory. Zero means its memory limit (GOMEMLIMIT), or else
// nine tenths of the memory of its cgroup or machine.
func New(memory int64) *Budget {
	if memory <= 0 {
		memory = debug.SetMemoryLimit(-1)
	}
	if memory == math.MaxInt64 {
		memory = Available() / 10 * 9
	}
	b := &Budget{pass: memory / passPart, share: memory / sharePart, workMax: memory / workPart,
		large: make(chan struct{}, 1)}
	b.work = semaphore.NewWeighted(b.workMax)
	return b
}

// Available returns the memory of the container, or else of the machine, in bytes.
func Available() int64 { return available(memlimit.FromCgroup, memlimit.FromSystem) }

// available returns the least of some limits of memory.
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

// Work waits until so many bytes may be used for a moment. Work that needs more than there is runs alone.
func (b *Budget) Work(ctx context.Context, bytes int64) (done func(), err error) {
	bytes = min(bytes, b.workMax)
	if err := b.work.Acquire(ctx, bytes); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { b.work.Release(bytes) }, nil
}

// Pass is the part of a [Budget] that one pass has. It is safe for concurrent use.
type Pass struct {
	ctx    context.Context // of the pass, whose end ends all waiting
	budget *Budget

	mu    sync.Mutex
	taken int64
	large bool
}

// Pass begins a pass. The caller must end it.
func (b *Budget) Pass(ctx context.Context) *Pass { return &Pass{ctx: ctx, budget: b} }

// Take charges the pass for bytes that it is about to need until its end. It waits while another pass needs much. Above
// the budget it returns [ErrExceeded], and once the pass has to end, the reason.
func (p *Pass) Take(bytes int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken += bytes
	switch {
	case p.taken > p.budget.pass:
		return fmt.Errorf("%w (%d MiB)", ErrExceeded, p.budget.pass>>20)
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

// Context is that of the pass.
func (p *Pass) Context() context.Context { return p.ctx }

// Work is [Budget.Work] for the pass.
func (p *Pass) Work(bytes int64) (done func(), err error) { return p.budget.Work(p.ctx, bytes) }

// End returns the memory of the pass to the budget.
func (p *Pass) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.large {
		p.large = false
		<-p.budget.large
	}
}
