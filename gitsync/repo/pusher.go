package repo

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Pusher writes to the remote of a [Repo] with a credential of its own. What it has
// pushed is in the Repo's cache. It may be used by many goroutines.
type Pusher struct {
	repo *Repo

	mu     sync.Mutex
	client *sharedClient // nil once closed
}

// Pusher prepares pushes with a credential. It contacts nobody. The caller closes it
// before the Repo.
func (r *Repo) Pusher(auth Auth) (*Pusher, error) {
	c, err := r.takeClient(auth)
	if err != nil {
		return nil, err
	}
	return &Pusher{repo: r, client: c}, nil
}

// SetAuth replaces the credential, as when a token was renewed. One that is the same
// costs nothing. What is under way ends with the old one.
func (p *Pusher) SetAuth(auth Auth) error {
	next, err := p.repo.takeClient(auth)
	if err != nil {
		return err
	}
	p.mu.Lock()
	old := p.client
	p.client = next
	p.mu.Unlock()
	if old != nil {
		p.repo.dropClient(old)
	}
	return nil
}

// Close lets go of connections that nobody else uses.
func (p *Pusher) Close() {
	p.mu.Lock()
	old := p.client
	p.client = nil
	p.mu.Unlock()
	if old != nil {
		p.repo.dropClient(old)
	}
}

// Push sends the new objects that the updates need and moves the refs, all of
// them or none if the remote can do that. A ref that has its new value already
// counts as pushed, whoever did it.
//
// An error is a [*PushError]: what became of each ref was then decided by
// listing the refs again. If the context ended or the remote could not be
// listed, the outcome is unknown and the error ErrUnreachable; to fetch tells.
func (p *Pusher) Push(ctx context.Context, w *Writer, updates ...Update) error {
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
	run := &push{ctx: ctx, client: c.client, remote: remote, updates: updates}
	if err := run.pack(w); err != nil {
		return fmt.Errorf("push to %s: %w", remote, err)
	}
	began := time.Now()
	err := run.run()
	p.repo.observe(OperationPush, began, err)
	if err != nil {
		p.repo.unlist()
		return err
	}
	p.repo.relist(updates)
	// The refs have moved. If the cache cannot take the objects, the next fetch
	// brings them.
	_ = p.repo.keep(ctx, run)
	return nil
}
