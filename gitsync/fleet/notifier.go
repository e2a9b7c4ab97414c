package fleet

import (
	"context"
	"log/slog"
	"sync"

	"github.com/agentry-dev/agentry/internal/panics"
)

// notifier reports outcomes to the observers, one at a time, in the order in which they were
// added. It is safe for concurrent use.
type notifier struct {
	observers []Observer
	log       *slog.Logger

	mu     sync.Mutex
	news   sync.Cond
	queue  []notice
	closed bool

	known map[string]Status // what the observers know, by pipeline. Only run uses it
}

// notice is an outcome that waits; reported is closed when the observers know it.
type notice struct {
	outcome  Outcome
	reported chan struct{}
}

func newNotifier(observers []Observer, log *slog.Logger) *notifier {
	n := &notifier{observers: observers, log: log, known: map[string]Status{}}
	n.news.L = &n.mu
	return n
}

// add queues an outcome, whose Before is filled in when it is reported. After close nobody is told.
func (n *notifier) add(o Outcome) (reported <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	next := notice{o, make(chan struct{})}
	if n.closed {
		close(next.reported)
		return next.reported
	}
	n.queue = append(n.queue, next)
	n.news.Signal()
	return next.reported
}

// close ends run after everything that was added.
func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.news.Signal()
}

// run reports until close. Passes that end after ctx were cut off, and are not reported.
func (n *notifier) run(ctx context.Context) {
	for {
		n.mu.Lock()
		for len(n.queue) == 0 && !n.closed {
			n.news.Wait()
		}
		if len(n.queue) == 0 {
			n.mu.Unlock()
			return
		}
		next := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		n.report(ctx, next.outcome)
		close(next.reported)
	}
}

// report calls the observers, unless nothing has changed for them. The panic of one is no more than
// a line in the log.
func (n *notifier) report(ctx context.Context, o Outcome) {
	name := o.Definition.Metadata.Name
	o.Before = n.known[name]
	if n.known[name] = o.After; o.Removed {
		delete(n.known, name)
	}
	if o.IsPass() && ctx.Err() != nil || !o.IsPass() && !o.Removed && o.Before.state() == o.After.state() {
		return
	}
	for _, observer := range n.observers {
		func() {
			defer panics.Recover(n.log, "notification", name, nil)
			observer.Passed(ctx, o)
		}()
	}
}
