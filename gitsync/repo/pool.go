package repo

import (
	"sync"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// Pool shares repositories: one bare cache and one set of connections for each pair of normalised URL and read
// credential, however many use it. Many goroutines can use it.
type Pool struct {
	dir  string
	opts Options

	mu    sync.Mutex
	repos map[string]*pooled // by cacheKey
}

// pooled is a repository with the number of its users.
type pooled struct {
	repo  *Repo
	users int
}

// NewPool returns an empty pool with its caches below dir.
func NewPool(dir string, opts Options) *Pool {
	return &Pool{dir: dir, opts: opts.withDefaults(), repos: map[string]*pooled{}}
}

// Dir is the folder of the caches.
func (p *Pool) Dir() string { return p.dir }

// Open is the function [Open], but returns the same Repo for the same normalised URL and read credential. Each
// user closes it, and the last Close takes effect. All use the credential of the last Open: of credentials with
// the same [transport.Auth.Identity], it is the newest.
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
	r.giveBack = func() { p.giveBack(key) }
	p.repos[key] = &pooled{repo: r, users: 1}
	return r, nil
}

// giveBack closes a Repo of this pool for one user.
func (p *Pool) giveBack(key string) {
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
