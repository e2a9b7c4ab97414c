package forge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// repository implements Forge on top of a backend.
type repository struct {
	backend
	at      address
	timeout time.Duration

	mu    sync.Mutex
	known map[knownComment]int64 // ids of comments
}

var _ Forge = (*repository)(nil)

// SetStatus implements Forge.
func (r *repository) SetStatus(ctx context.Context, commit string, s Status) error {
	if !plumbing.IsHash(commit) {
		return errors.New("set commit status: not a full commit id")
	}
	max := r.limits()
	s.Description, s.Context = cutLine(s.Description, max.description), cutLine(s.Context, max.context)
	if len(s.URL) > maxURLBytes {
		s.URL = ""
	}
	return r.call(ctx, "set commit status", func(ctx context.Context) error { return r.setStatus(ctx, commit, s) })
}

// PullRequests implements Forge.
func (r *repository) PullRequests(ctx context.Context, base string) ([]PullRequest, error) {
	var out []PullRequest
	for page := 1; len(out) < MaxPullRequests; page++ {
		var list []PullRequest
		var more bool
		err := r.call(ctx, "list pull requests", func(ctx context.Context) (err error) {
			list, more, err = r.pullRequests(ctx, base, page)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if p.Base == base && p.Number > 0 && plumbing.IsHash(p.Head) {
				out = append(out, p)
			}
		}
		if !more || page*perPage >= MaxPullRequests {
			break
		}
	}
	return out[:min(len(out), MaxPullRequests)], nil
}

// FindPullRequest implements Forge.
func (r *repository) FindPullRequest(ctx context.Context, head, base string) (found *PullRequest, err error) {
	err = r.call(ctx, "find the pull request", func(ctx context.Context) (err error) {
		found, err = r.find(ctx, head, base)
		return err
	})
	if !errors.Is(err, errSearch) {
		return found, err
	}
	list, err := r.PullRequests(ctx, base)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if p.Branch == head && !p.Fork {
			return &p, nil
		}
	}
	return nil, nil
}

// errSearch is returned by backends that cannot search.
var errSearch = errors.New("all pull requests have to be listed")

// OpenPullRequest implements Forge.
func (r *repository) OpenPullRequest(ctx context.Context, p Proposal) (out *PullRequest, err error) {
	max := r.limits()
	p.Title, p.Body = cutLine(p.Title, max.title), Truncate(p.Body, max.text)
	err = r.call(ctx, "open a pull request", func(ctx context.Context) (err error) {
		out, err = r.open(ctx, p)
		return err
	})
	return out, err
}

// UpdatePullRequest implements Forge.
func (r *repository) UpdatePullRequest(ctx context.Context, number int, title, body string) error {
	max := r.limits()
	title, body = cutLine(title, max.title), Truncate(body, max.text)
	return r.call(ctx, "update a pull request", func(ctx context.Context) error {
		return r.update(ctx, number, title, body)
	})
}

// ClosePullRequest implements Forge.
func (r *repository) ClosePullRequest(ctx context.Context, number int) error {
	return r.call(ctx, "close a pull request", func(ctx context.Context) error { return r.close(ctx, number) })
}

// HeadRef implements Forge.
func (r *repository) HeadRef(number int) string { return r.headRef(number) }

// CommitURL implements Forge.
func (r *repository) CommitURL(commit string) string { return r.commitURL(commit) }

// MaxTextBytes implements Forge.
func (r *repository) MaxTextBytes() int { return r.limits().text }

// call limits the time of a request, and adds the action to its error.
func (r *repository) call(ctx context.Context, doing string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("no answer in %s", r.timeout))
	defer cancel()
	err := do(ctx)
	switch {
	case err == nil, errors.Is(err, errSearch):
		return err
	case ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		err = context.Cause(ctx)
	default:
		err = plainError(err)
	}
	return fmt.Errorf("%s at %s: %w", doing, r.at, err)
}
