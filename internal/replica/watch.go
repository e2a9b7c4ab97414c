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
	// silenceTime is after how long a watch without a word is dead: it repeats each renewal of ours.
	silenceTime = 8 * time.Second
	// deafTime is after how long without a word of any kind a replica leaves: it would be given
	// slices and not know. It is expelled leaseTime later at the latest.
	deafTime = 12 * time.Second
	// maxListTries bounds how often a list is made again that a write of ours overtook.
	maxListTries = 5
)

// watch keeps the view up to date.
func (r *Replica) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.follow(ctx); !errors.Is(err, errSilent) { // It is listed anew, and that tells.
			r.report("watch", err)
		}
		pause(ctx, retryTime, nil)
	}
}

// follow lists all Leases and watches them until something goes wrong.
func (r *Replica) follow(ctx context.Context) error {
	version, err := r.list(ctx)
	if err != nil {
		return fmt.Errorf("list leases: %w", err)
	}
	r.report("watch", nil)
	for {
		next, err := r.listen(ctx, version)
		if err != nil {
			return fmt.Errorf("watch leases: %w", err)
		}
		if next == version && !pause(ctx, retryTime, nil) { // A watch that ends at once is not asked for again at once.
			return ctx.Err()
		}
		version = next
	}
}

// list takes in all Leases. A write of ours that a list does not have would look undone until
// the watch tells of it, and slices would go and come.
func (r *Replica) list(ctx context.Context) (version string, err error) {
	for range maxListTries {
		r.mu.Lock()
		writes := r.writes
		r.mu.Unlock()
		call, cancel := context.WithTimeout(ctx, callTime)
		all, err := r.leases.List(call)
		cancel()
		if err != nil {
			return "", err
		}
		version = all.ResourceVersion
		r.mu.Lock()
		r.view.replace(all.Items, r.now())
		r.heard = r.now()
		current := r.writes == writes
		r.mu.Unlock()
		if current {
			break
		}
	}
	poke(r.wake)
	poke(r.listed)
	return version, nil
}

// listen takes in what a watch says, until the API server ends it, and returns the version that
// it came to.
func (r *Replica) listen(ctx context.Context, version string) (string, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(silenceTime, func() { cancel(errSilent) }) // Also of a request that is not answered.
	defer silence.Stop()
	events, err := r.leases.Watch(inner, version)
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
			r.take(event.Type, lease)
		}
	}
}

var errSilent = errors.New("nothing was heard for longer than a renewal takes")

func (r *Replica) take(kind watch.EventType, lease *coordinationv1.Lease) {
	r.mu.Lock()
	r.heard = r.now()
	switch kind {
	case watch.Added, watch.Modified:
		r.view.put(lease, r.heard)
	case watch.Deleted:
		r.view.drop(lease)
	}
	r.mu.Unlock()
	poke(r.wake)
}

// wrote takes in the answer to a write of ours, which the watch will repeat.
func (r *Replica) wrote(lease *coordinationv1.Lease) {
	r.mu.Lock()
	r.writes++
	r.view.put(lease, r.now())
	r.mu.Unlock()
}
