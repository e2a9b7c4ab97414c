package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/store"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// Options are the limits of a [Repo]. The zero value of a field means its default.
type Options struct {
	// Depth is the number of commits of history in the first fetch of a ref. Default 50: with fewer, merging an
	// older branch often makes the remote send its whole history.
	Depth int
	// MaxFetchBytes limits the pack of a later fetch. If the pack is larger, the cache is cloned again. Default 64 MiB.
	MaxFetchBytes int64
	// MaxCloneBytes limits the pack of a clone. If the pack is larger, the fetch fails. Default 2 GiB.
	MaxCloneBytes int64
	// MaxObjectBytes limits each file in the fetched history. A file that Git stores as a delta may have half as many
	// bytes. Default 256 MiB.
	MaxObjectBytes int64
	// MaxUnpackedBytes limits the total unpacked size of the objects of a fetched pack. Default 16 GiB.
	MaxUnpackedBytes int64
	// StallTimeout limits the time that a remote may take for 1 KiB. While the remote works on a request, it is four
	// times as long. Default 30 s.
	StallTimeout time.Duration
	// MaxPacks is the number of packs above which the next fetch joins the small ones. Default 100.
	MaxPacks int
	// ReaderCacheBytes is the size of a Reader's cache. Default 4 MiB.
	ReaderCacheBytes int64
	// Budget bounds the memory of the process. Default: a new budget for this Repo.
	Budget *budget.Budget `json:"-"`
	// Observe is called after each request to the remote, unless it is nil. It must not block.
	Observe func(Request) `json:"-"`
}

const (
	defaultFetchBytes    = 64 << 20
	defaultCloneBytes    = 2 << 30
	defaultObjectBytes   = 256 << 20
	defaultUnpackedBytes = 16 << 30
)

func (o Options) withDefaults() Options {
	orDefault := func(v *int64, def int64) {
		if *v <= 0 {
			*v = def
		}
	}
	if o.Depth <= 0 {
		o.Depth = 50
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = 30 * time.Second
	}
	if o.MaxPacks <= 0 {
		o.MaxPacks = 100
	}
	if o.Budget == nil {
		o.Budget = budget.New(0)
	}
	orDefault(&o.MaxFetchBytes, defaultFetchBytes)
	orDefault(&o.MaxCloneBytes, defaultCloneBytes)
	orDefault(&o.MaxObjectBytes, defaultObjectBytes)
	orDefault(&o.MaxUnpackedBytes, defaultUnpackedBytes)
	orDefault(&o.ReaderCacheBytes, 4<<20)
	return o
}

// Repo is one remote repository and its cache on disk, or only objects on this machine: see [Local]. Many goroutines
// can use it.
type Repo struct {
	url   string // normalised
	local bool
	raw   string // as given
	home  string // the folder of this remote and credential
	store store.Store
	opts  Options

	busy     chan struct{}            // a semaphore of one: its holder may change the cache
	tips     map[string]plumbing.Hash // by tipName; guarded by busy, like the next two
	shallow  map[plumbing.Hash]struct{}
	complete object.Complete

	release func() // returns the Repo to its Pool; nil without a Pool

	objects  *object.Database
	clients  clients
	listings listings

	mu   sync.Mutex
	read *sharedClient // fetches and lists
}

// Open returns the Repo of a remote, with its cache below dir. It sends no request.
func Open(dir string, remote transport.Remote, opts Options) (*Repo, error) {
	url, err := transport.NormaliseURL(remote.URL)
	if err != nil {
		return nil, err
	}
	key, err := remote.CacheKey()
	if err != nil {
		return nil, err
	}
	r := &Repo{
		url:   url,
		raw:   remote.URL,
		home:  filepath.Join(dir, key),
		store: store.Store{Dir: filepath.Join(dir, key, "git")},
		opts:  opts.withDefaults(),
		busy:  make(chan struct{}, 1),
	}
	r.objects = object.NewDatabase(r.opts.ReaderCacheBytes)
	if err := r.SetAuth(remote.Auth); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.home, 0o700); err != nil {
		return nil, explainDisk(fmt.Errorf("open cache of %s: %w", url, err))
	}
	return r, nil
}

// Local returns a Repo of which only the objects are known that are added: see [Repo.Add]. It has no refs, sends no
// request and keeps nothing on disk. The URL serves as its name.
func Local(url string, opts Options) *Repo {
	r := &Repo{url: url, local: true, opts: opts.withDefaults()}
	r.objects = object.NewDatabase(r.opts.ReaderCacheBytes)
	return r
}

// Add adds objects on this machine. Their commits count as fetched.
func (r *Repo) Add(o object.Objects) { r.objects.Add(o) }

// URL returns the normalised URL of the remote.
func (r *Repo) URL() string { return r.url }

// SetAuth replaces the credential, for example with a renewed token, and keeps the cache. Running requests keep the
// old credential.
func (r *Repo) SetAuth(auth transport.Auth) error {
	next, err := r.acquireClient(auth)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.read
	r.read = next
	r.mu.Unlock()
	if old == nil {
		return nil
	}
	if old != next {
		r.listings.forget() // another credential may see other refs
	}
	r.clients.release(old)
	return nil
}

// readClient returns the client for fetches.
func (r *Repo) readClient() *transport.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read.Client
}

// acquireClient returns the client for a credential. The caller must call clients.release.
func (r *Repo) acquireClient(auth transport.Auth) (*sharedClient, error) {
	return r.clients.acquire(auth, func() (*transport.Client, error) {
		return transport.NewClient(transport.Remote{URL: r.raw, Auth: auth}, r.opts.StallTimeout)
	})
}

// Budget returns the budget of the process, which all repositories of a [Pool] share.
func (r *Repo) Budget() *budget.Budget { return r.opts.Budget }

// Reader opens a Reader of the cache, for one goroutine. The caller must close it.
func (r *Repo) Reader() *object.Reader { return r.objects.Reader() }

// Close closes connections and files. Open Readers stay usable, and the cache stays on disk. The Repo of a [Pool] is
// closed when its last user closes it.
func (r *Repo) Close() {
	if r.release != nil {
		r.release()
		return
	}
	r.close()
}

func (r *Repo) close() {
	r.clients.close()
	if r.objects.Damaged() {
		_ = r.store.MarkDamaged() // another process repairs it, or finds out again
	}
	r.objects.Close()
}

// lock locks the cache against other goroutines, then against other processes.
func (r *Repo) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another fetch of %s: %w", r.url, context.Cause(ctx))
	}
	err = os.MkdirAll(r.home, 0o700) // it may have been deleted
	var file *fileLock
	if err == nil {
		file, err = lockFile(ctx, filepath.Join(r.home, "lock"))
	}
	if err != nil {
		<-r.busy
		return nil, fmt.Errorf("fetch of %s: %w", r.url, err)
	}
	return func() {
		file.unlock()
		<-r.busy
	}, nil
}

// load reads the cache from disk again, because another process may have changed it. It empties a corrupt cache.
func (r *Repo) load() error {
	err := r.tryLoad()
	if err == nil || !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(r.store.Dir); err != nil {
		return err
	}
	if err := r.store.Create(r.url); err != nil {
		return err
	}
	return r.tryLoad()
}

func (r *Repo) tryLoad() error {
	vanished, err := r.objects.Load(r.store)
	if err != nil {
		return err
	}
	if vanished {
		r.complete.Forget()
	}
	isFirst := r.tips == nil
	if r.tips, err = r.store.Tips(); err != nil {
		return err
	}
	if isFirst {
		complete, err := r.store.Complete(r.objects.Names())
		if err != nil {
			return err
		}
		r.complete.Trust(complete)
	}
	r.shallow, err = r.store.Shallow()
	return err
}
