package fleet

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync"
)

// run is one pass of a pipeline.
type run struct {
	pipeline *pipeline
	at       *instance
	def      *Definition
	wish     wish
	since    time.Time
	limit    *window // of the rollout; nil if there is none

	began  time.Time
	took   time.Duration
	report *gitsync.Report
	err    error
	size   int64
}

// pushed reports whether the pass made a commit.
func (r *run) pushed() bool { return r.report != nil && r.report.Commit != "" }

// errPanic is the error of a pass that panicked.
var errPanic = errors.New("stopped by a fault in agentry itself, which its log describes: please report it")

// wants notes that a pipeline wants to pass, as soon as it may. f.mu is held.
func (f *Fleet) wants(p *pipeline, w wish) {
	p.want = p.want.and(w)
	p.notBefore = p.last.began.Add(f.options.MinGap)
}

// consider begins what a pipeline is waiting for, if nothing stands in the way any more: its
// opening or its pass. Whatever may change the answer calls it. f.mu is held.
func (f *Fleet) consider(p *pipeline) {
	p.alarm.stop()
	wanted := p.at == nil || !p.want.isZero() && p.trouble == ""
	if !f.isRunning() || !p.mayRun() || p.running || p.opening || !wanted {
		return
	}
	if wait := time.Until(p.notBefore); wait > 0 {
		f.considerIn(p, wait)
		return
	}
	if p.at == nil {
		f.open(p)
		return
	}
	if out := p.at.output; out != nil && out.failures > 0 || !p.at.isListed(p.want.asked) {
		return // the end of a round looks again
	}
	limit := f.limits[p.def.rollout().MaxPerMinute]
	if f.isHeldBack(p, limit) {
		f.review(p)
		return
	}
	if p.at.use.tryTake() { // else a round renews its credentials, and looks again
		f.begin(p, limit)
	}
}

// considerIn looks at a pipeline again later. f.mu is held.
func (f *Fleet) considerIn(p *pipeline, wait time.Duration) {
	p.alarm.set(wait, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.consider(p)
	})
}

// isHeldBack asks the rollout. Who is held back is looked at again when another pipeline's
// pass ends, or gets ready. f.mu is held.
func (f *Fleet) isHeldBack(p *pipeline, limit *window) bool {
	p.waits = f.awaits(p)
	if p.waits == "" && limit != nil {
		wait, busy := limit.wait(time.Now())
		if busy || wait > 0 {
			p.waits = fmt.Sprintf("waits for its turn: rollout.maxPerMinute is %d", limit.max)
		}
		if wait > 0 {
			f.considerIn(p, wait)
		}
	}
	if p.waits == "" {
		delete(f.waiting, p)
		return false
	}
	f.waiting[p] = struct{}{}
	return true
}

// considerWaiting looks at those that the rollout holds back. f.mu is held.
func (f *Fleet) considerWaiting() {
	for p := range f.waiting {
		f.consider(p)
	}
}

// begin starts a pass, which has the place in use. f.mu is held.
func (f *Fleet) begin(p *pipeline, limit *window) {
	r := &run{pipeline: p, at: p.at, def: p.def, wish: p.want, since: p.at.since(), limit: limit, began: time.Now()}
	p.want, p.running = wish{}, true
	p.last.began = r.began
	p.at.tried = p.at.tips()
	if limit != nil {
		limit.begin()
	}
	f.review(p)
	f.spawn(func() { f.pass(r) })
}

// pass makes a pass and takes note of it.
func (f *Fleet) pass(r *run) {
	r.report, r.err = f.attempt(r)
	if !errors.Is(r.err, errPanic) {
		r.size = r.at.Size()
	}
	if r.at.writing {
		r.at.writing = false
		r.at.output.writers.give()
	}
	r.at.use.give()
	r.took = time.Since(r.began)
	f.tellPass(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.consider(r.pipeline)
	f.considerWaiting()
}

// attempt makes a pass. A panic ends it and nothing else.
func (f *Fleet) attempt(r *run) (report *gitsync.Report, err error) {
	defer func() {
		if v := recover(); v != nil {
			report, err = nil, f.panicked("pass", r.def.Metadata.Name, v)
		}
	}()
	return r.at.PassSince(f.passes, r.since)
}

// panicked logs a panic. Of its value only what the runtime itself says is shown: anything
// else may hold a secret.
func (f *Fleet) panicked(during, of string, value any) error {
	text := fmt.Sprintf("%T", value)
	if known, ok := value.(runtime.Error); ok {
		text = known.Error()
	}
	f.log.Error("panic", "during", during, "of", of, "value", text, "stack", string(debug.Stack()))
	return errPanic
}

// ended takes note of a pass. f.mu is held.
func (f *Fleet) ended(r *run) {
	p := r.pipeline
	p.running = false
	f.wakeIdlers()
	if r.limit != nil {
		r.limit.end(time.Now(), r.pushed())
	}
	if p.removed {
		f.remove(p)
	}
	if p.at != r.at { // it was changed, suspended or taken away meanwhile
		if p.mayRun() {
			p.want = p.want.and(r.wish.awaited())
		}
		return
	}
	r.at.used = time.Now()
	f.resize(r.at, r.size)
	p.record(r)
	switch {
	case r.err != nil && f.passes.Err() != nil: // the fleet stops
	case r.err != nil:
		p.last.failure, p.last.permanent = advised(r.err), errors.Is(r.err, errPanic) || isPermanent(r.err)
		p.last.failures++
		if errors.Is(r.err, errPanic) {
			f.detach(p) // what it keeps may be broken
		}
		if p.want.isZero() {
			p.want = wish{reason: ReasonRetry}
			p.notBefore = time.Now().Add(max(f.options.MinGap, backoff(p.last.failures, f.engine.random)))
		}
	default:
		p.last.succeeded(r)
		if r.pushed() {
			r.at.pushed(r.def, plumbing.NewHash(r.report.Commit))
			f.log.Info("pushed", "pipeline", p.name(), "branch", r.report.Output.Branch, "commit", r.report.Commit, "trigger", r.wish.reason)
		}
	}
	f.trim()
	f.restLater()
	f.review(p)
}

// spawn runs a function that Run waits for. f.mu is held, and the fleet is running.
func (f *Fleet) spawn(do func()) {
	f.busy.Go(do)
}

// isRunning reports whether something may be begun. f.mu is held.
func (f *Fleet) isRunning() bool { return f.rounds != nil && f.rounds.Err() == nil && !f.ending }
