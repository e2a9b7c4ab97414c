package fleet

import "context"

// Gate waits for one of the places in which passes read and render, for others who do the like:
// see [Options.Workers]. Release gives it back.
func (f *Fleet) Gate(ctx context.Context) (release func(), err error) {
	if err := f.workers.take(ctx); err != nil {
		return nil, err
	}
	return f.workers.give, nil
}

// maxPushesPerRemote is how many passes may write to one remote at once. A pass counts from
// the moment that it renders: before, it writes nothing.
const maxPushesPerRemote = 8

// slots are a number of places, each taken by one at a time, in order of arrival.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// take waits for a place.
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryTake takes a place if there is a free one.
func (s slots) tryTake() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) give() { <-s }

// enter is the gate of an instance's passes: see gitsync.Options.Gate. The place at the remote
// is kept until the pass has ended, as the push comes after rendering; it is taken before the
// worker, so that who waits for a slow remote keeps no worker.
func (f *Fleet) enter(ctx context.Context, at *instance) (leave func(), err error) {
	if at.output != nil && !at.writing {
		if err := at.output.writers.take(ctx); err != nil {
			return nil, err
		}
		at.writing = true
	}
	return f.Gate(ctx)
}
