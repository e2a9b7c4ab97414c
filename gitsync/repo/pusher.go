package repo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// Pusher pushes to the remote of a [Repo] with its own credential, and adds the pushed objects to the Repo's cache.
// Many goroutines can use it.
type Pusher struct {
	repo *Repo

	mu     sync.Mutex
	client *sharedClient // nil after Close
}

// Pusher returns a Pusher with a credential. It sends no request. The caller must close it before the Repo.
func (r *Repo) Pusher(auth transport.Auth) (*Pusher, error) {
	c, err := r.acquireClient(auth)
	if err != nil {
		return nil, err
	}
	return &Pusher{repo: r, client: c}, nil
}

// Close closes the connections that only this Pusher uses.
func (p *Pusher) Close() {
	p.mu.Lock()
	old := p.client
	p.client = nil
	p.mu.Unlock()
	if old != nil {
		p.repo.clients.release(old)
	}
}

// Push sends the new objects that the updates need and moves the refs; all or none of them, if the remote supports
// that. A ref that already has its new value counts as pushed.
//
// If the push fails, it lists the refs again and returns a [*PushError] that says for each ref whether it was
// moved. If the context ended or the refs could not be listed, the error is [transport.ErrUnreachable] and the
// outcome is unknown until the next fetch.
func (p *Pusher) Push(ctx context.Context, w *object.Writer, updates ...Update) error {
	remote := p.repo.URL()
	p.mu.Lock()
	c := p.client
	p.mu.Unlock()
	if c == nil {
		return fmt.Errorf("push to %s: the pusher is closed", remote)
	}
	if err := checkUpdates(updates); err != nil {
		return fmt.Errorf("push to %s: %w", remote, err)
	}
	run := &push{client: c.Client, updates: updates}
	var err error
	if run.data, err = w.Pack(newValues(updates)...); err != nil {
		return fmt.Errorf("push to %s: %w", remote, err)
	}
	began := time.Now()
	err = run.run(ctx)
	p.repo.opts.observe(p.repo.url, OperationPush, began, err)
	if err != nil {
		p.repo.listings.forget()
		return err
	}
	p.repo.listings.pushed(updates)
	// The refs have moved. If adding the objects to the cache fails, the next fetch fetches them.
	_ = p.repo.cachePushed(ctx, updates, run.data)
	return nil
}
