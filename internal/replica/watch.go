package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// silenceTime is the time without an event after which a watch counts as dead: our own renewals are
	// events.
	silenceTime = 8 * time.Second
	// staleTime is the time without an event or a list after which a replica stops renewing its Lease:
	// it would be given shards without knowing it. The others expel it leaseTime later at the latest.
	staleTime = 12 * time.Second
	// maxListTries bounds how often Leases are listed again because a write of ours came meanwhile.
	maxListTries = 5
)

// watcher keeps the view up to date: it lists all Leases, and watches them from there.
type watcher struct {
	leases   Leases
	state    *state
	problems *problems
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.follow(ctx); !errors.Is(err, errSilent) { // The next list shows whether the API server answers.
			w.problems.report("watch", err)
		}
		pause(ctx, retryTime, nil)
	}
}

// follow lists all Leases and watches them until something goes wrong.
func (w *watcher) follow(ctx context.Context) error {
	version, err := w.list(ctx)
	if err != nil {
		return fmt.Errorf("list leases: %w", err)
	}
	w.problems.report("watch", nil)
	for {
		next, err := w.listen(ctx, version)
		if err != nil {
			return fmt.Errorf("watch leases: %w", err)
		}
		if next == version && !pause(ctx, retryTime, nil) { // The watch ended at once.
			return ctx.Err()
		}
		version = next
	}
}

// list takes in all Leases. A write of ours that is not in the list would look undone until the watch
// repeats it, and shards would be lost and taken again. So they are listed again after such a write.
func (w *watcher) list(ctx context.Context) (version string, err error) {
	for range maxListTries {
		w.state.mu.Lock()
		writes := w.state.writes
		w.state.mu.Unlock()
		call, cancel := context.WithTimeout(ctx, callTime)
		all, err := w.leases.List(call)
		cancel()
		if err != nil {
			return "", err
		}
		version = all.ResourceVersion
		w.state.mu.Lock()
		w.state.view.replace(all.Items, w.state.now())
		w.state.heard = w.state.now()
		current := w.state.writes == writes
		w.state.mu.Unlock()
		if current {
			break
		}
	}
	poke(w.state.wake)
	poke(w.state.listed)
	return version, nil
}

// listen takes in the events of a watch until the API server ends it. It returns the last version.
func (w *watcher) listen(ctx context.Context, version string) (string, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(silenceTime, func() { cancel(errSilent) }) // It also ends a request that is not answered.
	defer silence.Stop()
	events, err := w.leases.Watch(inner, version)
	if err != nil {
		return version, cmp.Or(context.Cause(inner), err)
	}
	defer events.Stop()
	for {
		select {
		case <-inner.Done():
			return version, context.Cause(inner)
		case event, open := <-events.ResultChan():
			if !open {
				return version, context.Cause(inner)
			}
			silence.Reset(silenceTime)
			lease, ok := event.Object.(*coordinationv1.Lease)
			if event.Type == watch.Error || !ok {
				return version, apierrors.FromObject(event.Object)
			}
			version = lease.ResourceVersion
			w.state.take(event.Type, lease)
		}
	}
}

var errSilent = errors.New("no event came for longer than renewals take")
