package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/panics"
)

// run is one pass of a pipeline.
type run struct {
	pipeline *runner
	instance *instance
	def      *Definition
	request  request
	since    time.Time
	limiter  *pushLimiter // of the rollout

	began  time.Time
	took   time.Duration
	report *gitsync.Report
	made   []Definition // of forEach
	err    error
	size   int64  // what the instance keeps
	names  *names // of what was rendered; nil if they are made when somebody asks for them
}

// make makes the pass, and releases the instance.
func (r *run) make(ctx context.Context, log *slog.Logger) {
	inst := r.instance
	r.report, r.err = r.attempt(ctx, log)
	if !panics.Is(r.err) {
		r.size = inst.syncer.Size()
	}
	if r.report != nil && r.report.Explained != inst.explained.Load() && inst.isQuick(time.Since(r.began)) {
		r.names = newNames(r.report.Explained, r.def.Metadata.Name, log)
	}
	if inst.templateSyncer != nil && r.err == nil {
		r.made = inst.templateSyncer.Made()
	}
	inst.stopWriting()
	inst.use.give()
	r.took = time.Since(r.began)
}

// attempt makes the pass. A panic ends it and nothing else.
func (r *run) attempt(ctx context.Context, log *slog.Logger) (report *gitsync.Report, err error) {
	defer panics.Recover(log, "pass", r.def.Metadata.Name, &err)
	return r.instance.syncer.PassSince(ctx, r.since)
}

// pushed reports whether the pass made a commit.
func (r *run) pushed() bool { return r.report != nil && r.report.Commit != "" }

// enterPush notes the pushed commit as the tip of the output branch, so that the pipeline does not take
// its own commit for somebody else's.
func (r *run) enterPush(rs *remotes) {
	for i := range r.instance.tried {
		if t := &r.instance.tried[i]; t.isOutput {
			t.commit, t.known = plumbing.NewHash(r.report.Commit), true
			rs.pushed(t.remote, t.ref, t.commit)
		}
	}
}

// schedule opens pipelines, or begins their passes, as soon as they may. It is called whenever something
// changes that this depends on. Pipelines are opened in one batch, so that the first round of their
// remotes lists the refs of all. f.mu is held.
func (f *Fleet) schedule(pipelines ...*runner) {
	var openings []opening
	for _, p := range pipelines {
		p.alarm.stop()
		if !f.isRunning() {
			continue
		}
		now, v := time.Now(), f.remotes.look(p.instance)
		reminder := p.remind(now)
		switch p.next(now, v) {
		case stepNone:
			if reminder > 0 {
				f.scheduleIn(p, reminder)
			}
		case stepWait:
			f.scheduleIn(p, p.notBefore.Sub(now))
		case stepOpen:
			p.phase = phaseOpening
			openings = append(openings, opening{pipeline: p, def: p.def, generation: p.generation})
		case stepPass:
			f.begin(p, v)
		}
	}
	if len(openings) > 0 {
		f.busy.Go(func() { f.open(openings) })
	}
}

// scheduleIn schedules a pipeline again later. f.mu is held.
func (f *Fleet) scheduleIn(p *runner, wait time.Duration) {
	p.alarm.set(wait, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.schedule(p)
	})
}

// scheduleWaiting schedules all pipelines that a rollout holds back. f.mu is held.
func (f *Fleet) scheduleWaiting() {
	for _, p := range f.order {
		if p.waits != "" {
			f.schedule(p)
		}
	}
}

// begin starts a pass, unless the rollout holds it back. Then it is scheduled again when another pass
// ends or another pipeline gets ready. f.mu is held.
func (f *Fleet) begin(p *runner, v view) {
	now, limit, wait := time.Now(), f.limiters[p.def.rollout().MaxPerMinute], time.Duration(0)
	if p.waits = p.awaited(v, f.pipelines); p.waits == "" {
		p.waits, wait = limit.turn(now)
	}
	if p.waits != "" {
		if wait > 0 {
			f.scheduleIn(p, wait)
		}
		f.review(p)
		return
	}
	if !p.instance.use.tryTake() {
		return // a round renews its credentials, and schedules it afterwards
	}
	r := &run{pipeline: p, instance: p.instance, def: p.def, request: p.request, since: v.since, limiter: limit,
		began: now}
	p.request, p.phase = request{}, phasePassing
	p.last.began = now
	p.instance.tried = v.tips
	limit.begin()
	f.review(p)
	f.busy.Go(func() { f.pass(r) })
}

// stopTime is how long a pass gets to end when its time is over, or the fleet stops. Only one that is in a library
// which cannot be stopped takes longer.
const stopTime = 5 * time.Second

// errStuck means that a pass does not end when its time is over.
var errStuck = errors.New("does not stop: the inputs build too much, and the pipeline waits until it has ended")

// pass makes a pass. The pipeline goes on after the observers: slow ones delay passes.
func (f *Fleet) pass(r *run) {
	late := fmt.Errorf("%w %s", pipeline.ErrLate, f.options.PassTimeout)
	ctx, cancel := context.WithTimeoutCause(f.passes, f.options.PassTimeout, late)
	defer cancel()
	made := make(chan struct{})
	go func() {
		defer close(made)
		r.make(ctx, f.log)
	}()
	overdue := time.NewTimer(f.options.PassTimeout + stopTime)
	defer overdue.Stop()
	select {
	case <-made:
		f.report(r)
	case <-overdue.C:
		f.abandon(r, fmt.Errorf("%w and %w", late, errStuck), made)
	}
	f.workers.ended(&r.instance.pace)
	f.mu.Lock()
	defer f.mu.Unlock()
	p := r.pipeline
	p.phase = phaseIdle
	if p.removed {
		f.remove(p)
	}
	f.schedule(p)
	f.scheduleWaiting()
}

// report records a pass, and returns when the observers know.
func (f *Fleet) report(r *run) {
	f.mu.Lock()
	reported := f.ended(r)
	f.mu.Unlock()
	<-reported
}

// abandon reports a pass that does not end as failed, and gives its places to others. It returns when the pass has
// ended.
func (f *Fleet) abandon(r *run, err error, made <-chan struct{}) {
	p := r.pipeline
	f.log.Error("a pass does not stop, others get its place", "pipeline", r.def.Metadata.Name, "err", err)
	f.workers.abandon(&r.instance.pace)
	r.instance.stopWriting()
	f.report(&run{pipeline: p, instance: r.instance, def: r.def, request: r.request, limiter: r.limiter, began: r.began,
		took: time.Since(r.began), err: err})
	f.mu.Lock()
	p.phase = phaseStuck
	f.review(p)
	f.mu.Unlock()
	<-made
	f.log.Info("a pass that did not stop has ended", "pipeline", r.def.Metadata.Name, "took", r.took)
	f.memory.used(r.instance, r.size)
}

// ended records a pass and reports it. f.mu is held.
func (f *Fleet) ended(r *run) (reported <-chan struct{}) {
	p := r.pipeline
	p.phase = phaseReporting
	r.limiter.end(time.Now(), r.pushed())
	p.answer(r)
	switch {
	case p.instance != r.instance: // changed, suspended or removed during the pass
		if p.mayRun() {
			p.request = p.request.merge(r.request.carriedOver())
		}
	case r.err != nil && f.passes.Err() != nil: // the fleet stops
	default:
		if r.report != nil && r.report.Explained != nil {
			r.instance.explained.Store(r.report.Explained) // before what is used is counted, which may evict it
		}
		if r.names != nil {
			r.instance.names.Store(r.names)
		}
		f.memory.used(r.instance, r.size)
		refused := p.last.refused
		p.conclude(r, f.options.MinGap, f.backend.random)
		if r.pushed() {
			r.enterPush(f.remotes)
			f.log.Info("pushed", "pipeline", p.name(), "branch", r.report.Output.Branch, "commit", r.report.Commit,
				"trigger", r.request.reason)
		}
		if _, output := f.remotes.look(p.instance).moved(p.instance.tried); output {
			p.ask(request{reason: ReasonPoll}, f.options.MinGap)
		}
		if panics.Is(r.err) {
			f.detach(p) // its caches may be broken
		}
		isLogged := p.update(f.remotes.look(p.instance), f.log) // reported with the pass
		if now := p.last.refused; now != "" && now != refused && !isLogged {
			f.log.Warn("nothing is written", "pipeline", p.name(), "message", now)
		}
		if r.err == nil && r.def.Expand != nil {
			f.rebuild()
		}
	}
	return f.notifier.add(Outcome{
		Definition: r.def, Report: r.report, Err: r.err, Trigger: r.request.reason,
		Began: r.began, Took: r.took, After: p.published(f.remotes.look(p.instance)),
	})
}

// review updates the conditions of a pipeline, and reports a change. f.mu is held.
func (f *Fleet) review(p *runner) {
	v := f.remotes.look(p.instance)
	if !p.update(v, f.log) {
		return
	}
	f.notifier.add(Outcome{Definition: p.def, After: p.published(v)})
	if p.status.isReady() {
		f.scheduleWaiting()
	}
}
