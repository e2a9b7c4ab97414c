package repo

import (
	"sync"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// Pool shares repositories: all users of the same normalised URL and read credential share one bare cache and one
// set of connections. Many goroutines can use it.
type Pool struct {
	dir  string
	opts Options

	mu    sync.Mutex
	repos map[string]*sharedRepo // by cacheKey
}

// sharedRepo is a repository with the number of its users.
type sharedRepo struct {
	repo  *Repo
	users int
}

// NewPool returns an empty pool with its caches below dir.
func NewPool(dir string, opts Options) *Pool {
	return &Pool{dir: dir, opts: opts.withDefaults(), repos: map[string]*sharedRepo{}}
}

// Dir returns the folder of the caches.
func (p *Pool) Dir() string { return p.dir }

// Open is like the function [Open], but returns the same Repo for the same normalised URL and read credential. Each
// user must close it; the last Close takes effect. Credentials with the same [transport.Auth.Identity] count as the
// same, and all users get the one of the last Open.
func (p *Pool) Open(remote transport.Remote) (*Repo, error) {
	key, err := remote.CacheKey()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.repos[key]; known != nil {
		if err := known.repo.SetAuth(remote.Auth); err != nil {
			return nil, err
		}
		known.users++
		return known.repo, nil
	}
	r, err := Open(p.dir, remote, p.opts)
	if err != nil {
		return nil, err
	}
	r.release = func() { p.release(key) }
	p.repos[key] = &sharedRepo{repo: r, users: 1}
	return r, nil
}

// release closes a Repo of this pool for one user.
func (p *Pool) release(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.repos[key]
	if known == nil {
		return // the pool was closed first
	}
	if known.users--; known.users > 0 {
		return
	}
	delete(p.repos, key)
	known.repo.close()
}

// Close closes all repositories, even those in use.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.repos {
		known.repo.close()
	}
	clear(p.repos)
}
