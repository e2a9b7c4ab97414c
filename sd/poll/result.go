package poll

import (
	"context"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
)

// done records the result of a poll.
func (p *Poller) done(ctx context.Context, polled *pod, took time.Duration, a answer, failure *Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.signal()
	if polled.holds != nil {
		polled.holds.inFlight--
		polled.holds = nil
	} else {
		p.slow--
	}
	if ctx.Err() != nil || p.pods[polled.id()] != polled {
		return // The poller is ending, or the pod is gone.
	}
	now := time.Now()
	if failure == nil {
		failure = p.accept(now, polled, a)
	}
	if failure != nil {
		p.fail(now, polled, failure)
		p.options.Observer.Polled(took, failure.Reason)
	} else {
		p.options.Observer.Polled(took, "")
	}
	p.requeue(now, polled)
	p.tried(polled)
}

// requeue puts a pod into the queue of its state.
func (p *Poller) requeue(now time.Time, polled *pod) {
	urgent := polled.stumbled() || polled.turned && polled.state == StateFailing
	polled.plan(now, p.origin, p.options.Interval)
	switch {
	case urgent: // It must not wait behind pods that hang.
		p.fresh.push(polled)
	case polled.state == StateFailing:
		p.failing.push(polled)
	default:
		p.healthy.push(polled)
	}
}

// accept records a good answer, unless the document has no room for it.
func (p *Poller) accept(now time.Time, polled *pod, a answer) *Failure {
	old := polled.published.Size()
	if grown := a.fragment.Size() - old; grown > 0 && p.size+grown > p.options.MaxDocument {
		return failuref(ReasonDocumentFull, "the document would exceed %d bytes", p.options.MaxDocument)
	}
	state, droppedBefore := polled.state, dropped(polled.drops)
	p.dirty = polled.accept(now, a) || p.dirty
	p.size += polled.published.Size() - old
	for _, d := range polled.drops {
		p.options.Observer.Dropped(d.Reason, d.Count)
	}
	p.logChange(polled, state, droppedBefore)
	return nil
}

// dropped returns the number of dropped groups.
func dropped(drops []merge.Drop) (n int) {
	for _, d := range drops {
		n += d.Count
	}
	return n
}

// logChange logs a change of state or of the number of dropped groups. Most answers change neither.
func (p *Poller) logChange(polled *pod, before State, droppedBefore int) {
	droppedNow := dropped(polled.drops)
	if before == polled.state && droppedNow == droppedBefore {
		return
	}
	log := p.options.Log.With("pod", polled.Name, "addr", polled.Addr, "agent", polled.Owner)
	switch {
	case before == StateFailing:
		log.Info("pod answers again", "targets", polled.answer.Targets())
	case before == StateNew:
		log.Debug("pod answers", "targets", polled.answer.Targets())
	case before != polled.state:
		log.Info("pod changed", "state", polled.state, "targets", polled.answer.Targets())
	}
	if droppedNow > 0 && droppedNow != droppedBefore {
		log.Warn("groups of a pod dropped", "groups", droppedNow, "reason", polled.drops[0].Reason, "example",
			polled.drops[0].Example)
	}
}

// fail records a failed poll, and logs the first of several in a row.
func (p *Poller) fail(now time.Time, polled *pod, failure *Failure) {
	was := polled.state
	polled.fail(now, failure)
	if was != StateFailing {
		p.options.Log.Warn("pod does not answer", "pod", polled.Name, "addr", polled.Addr, "agent", polled.Owner,
			"reason", failure.Reason, "err", failure, "kept", polled.published.Targets())
	}
}
