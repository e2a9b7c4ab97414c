package fleet

import (
	"context"
	"log/slog"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// review brings the conditions of a pipeline up to date, and says what has changed: in the
// log at once, to the observers soon. f.mu is held.
func (f *Fleet) review(p *pipeline) {
	before := p.status.state()
	p.status.Conditions = timed(judge(f.facts(p)), p.status.Conditions, metav1.Now())
	p.status.Failures = p.last.failures
	c := p.status.Condition(meta.ReadyCondition)
	if p.status.state() == before || c.Reason == meta.ProgressingReason {
		return // one that has begun will soon say how it went
	}
	f.logState(p)
	f.news(p)
	if p.isReady() {
		f.considerWaiting()
	}
}

// facts gathers what the conditions depend on. f.mu is held.
func (f *Fleet) facts(p *pipeline) facts {
	out := facts{
		elsewhere: !p.mine, suspended: p.def.Spec.Suspend, refused: p.refused, trouble: p.trouble,
		waits: p.waits, busy: p.running || !p.want.isZero(), last: p.last, made: p.made(),
	}
	if p.at == nil {
		return out
	}
	for _, m := range p.at.members {
		switch {
		case !m.remote.isDown():
			continue
		case m.remote == p.at.output:
			out.outputDown = advised(m.remote.err)
		default:
			out.sourcesDown = advised(m.remote.err)
		}
		out.permanentlyDown = out.permanentlyDown || isPermanent(m.remote.err)
	}
	return out
}

func (p *pipeline) isReady() bool {
	c := p.status.Condition(meta.ReadyCondition)
	return c != nil && c.Status == metav1.ConditionTrue
}

// logState writes the line for a change of state.
func (f *Fleet) logState(p *pipeline) {
	c := p.status.Condition(meta.ReadyCondition)
	level, message := slog.LevelInfo, "pipeline is ready"
	switch {
	case c.Status == metav1.ConditionUnknown:
		message = "pipeline rests"
	case p.status.Condition(meta.StalledCondition) != nil:
		level, message = slog.LevelError, "pipeline is stalled"
	case c.Status == metav1.ConditionFalse:
		level, message = slog.LevelWarn, "pipeline is not ready"
	}
	f.log.Log(context.Background(), level, message, "pipeline", p.name(), "reason", c.Reason, "message", c.Message)
}

// news makes the observers hear of a pipeline. f.mu is held.
func (f *Fleet) news(p *pipeline) {
	if p.toTell {
		return
	}
	p.toTell = true
	f.changed = append(f.changed, p)
	select {
	case f.hasNews <- struct{}{}:
	default: // they are being told
	}
}

// tellPass takes note of a pass and tells the observers.
func (f *Fleet) tellPass(r *run) {
	_ = f.telling.take(context.Background()) // observers do not block for long
	defer f.telling.give()
	f.mu.Lock()
	f.ended(r)
	p := r.pipeline
	o := Outcome{
		Definition: r.def, Report: r.report, Err: r.err, Trigger: r.wish.reason,
		Began: r.began, Took: r.took, Before: p.told, After: f.published(p),
	}
	p.told = o.After
	cutOff := f.passes.Err() != nil
	f.mu.Unlock()
	if !cutOff {
		f.tell(o)
	}
}

// tellChanges tells the observers of changes of state that come without a pass, until done is
// closed and all is told.
func (f *Fleet) tellChanges(done <-chan struct{}) {
	for {
		select {
		case <-f.hasNews:
			for f.tellNext() {
			}
		case <-done:
			return
		}
	}
}

// tellNext tells of one pipeline; false if there is none to tell of.
func (f *Fleet) tellNext() bool {
	_ = f.telling.take(context.Background())
	defer f.telling.give()
	f.mu.Lock()
	if len(f.changed) == 0 {
		f.mu.Unlock()
		return false
	}
	p := f.changed[0]
	f.changed = f.changed[1:]
	p.toTell = false
	if p.removed && p.running {
		f.mu.Unlock()
		return true // the end of its pass brings it up again
	}
	o := Outcome{Definition: p.def, Before: p.told, After: f.published(p), Removed: p.removed}
	p.told = o.After
	f.mu.Unlock()
	if o.Removed || o.Before.state() != o.After.state() {
		f.tell(o)
	}
	return true
}

// tell calls the observers. One that panics is not more than a line in the log.
func (f *Fleet) tell(o Outcome) {
	for _, observer := range f.options.Observers {
		func() {
			defer func() {
				if v := recover(); v != nil {
					_ = f.panicked("telling of", o.Definition.Metadata.Name, v)
				}
			}()
			observer.Passed(f.passes, o)
		}()
	}
}
