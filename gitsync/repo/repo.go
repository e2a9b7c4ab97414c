package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Options are the limits of a [Repo]. The zero value of a field means its
// default.
type Options struct {
	// Depth is how many commits of history a ref is fetched with at first.
	// Default 50: with less, an ordinary merge of an older branch makes the
	// remote send its whole history.
	Depth int
	// MaxFetchBytes is the largest pack that a later fetch takes; above it the
	// cache is cloned again. Default 64 MiB.
	MaxFetchBytes int64
	// MaxCloneBytes is the largest pack that a clone takes; above it the fetch
	// is an error. Default 2 GiB.
	MaxCloneBytes int64
	// MaxObjectBytes is the largest file that a fetched pack may hold anywhere in
	// its history. Default 256 MiB.
	MaxObjectBytes int64
	// StallTimeout is how long a remote may keep a call waiting for 1 KiB, and a fourth of
	// how long after a request, when it has to work before it answers. Default 30 s.
	StallTimeout time.Duration
	// MaxPacks is how many packs the cache may be split into before the next
	// fetch joins the small ones. Default 100.
	MaxPacks int
	// ReaderCacheBytes is how much a Reader keeps of what it has read.
	// Default 16 MiB.
	ReaderCacheBytes int64
	// Observe is told of each request to the remote; nil: nobody is. It must not wait.
	Observe func(Request) `json:"-"`
}

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
	orDefault(&o.MaxFetchBytes, 64<<20)
	orDefault(&o.MaxCloneBytes, 2<<30)
	orDefault(&o.MaxObjectBytes, 256<<20)
	orDefault(&o.ReaderCacheBytes, 16<<20)
	return o
}

// Repo is one remote repository and its cache on disk. It may be used by many
// goroutines.
type Repo struct {
	at    location
	home  string // the folder of this remote and credential
	store store
	opts  Options

	busy  chan struct{} // holds one token; who has it may change the cache
	state               // guarded by busy

	giveBack func() error // of the Pool that it is from; nil if of none

	directories directories

	mu         sync.Mutex
	clients    clients
	read       *sharedClient
	listed     *listing // nil before the first
	packs      []*pack
	generation int // counts the changes of packs
	idle       []*Reader
	distrust   bool // a Reader has met corrupt bytes
}

// state is what is known of the cache besides its packs.
type state struct {
	tips     map[string]plumbing.Hash // by tipName
	shallow  map[plumbing.Hash]struct{}
	verified map[plumbing.Hash]plumbing.Hash // complete commits and their trees
}

// Open prepares the cache of a remote below dir. It contacts nobody.
func Open(dir string, remote Remote, opts Options) (*Repo, error) {
	at, err := parseURL(remote.URL)
	if err != nil {
		return nil, err
	}
	key, err := cacheKey(at, remote.Auth)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.normal(), err)
	}
	r := &Repo{
		at:    at,
		home:  filepath.Join(dir, key),
		store: store{filepath.Join(dir, key, "git")},
		opts:  opts.withDefaults(),
		busy:  make(chan struct{}, 1),
	}
	if err := r.SetAuth(remote.Auth); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.home, 0o700); err != nil {
		return nil, r.explainDisk(fmt.Errorf("open cache of %s: %w", at.normal(), err))
	}
	return r, nil
}

// URL is the normalised URL of the remote.
func (r *Repo) URL() string { return r.at.normal() }

// SetAuth replaces the credential, as when a token was renewed. The cache stays where
// it is. One that is the same costs nothing. What is under way ends with the old one.
func (r *Repo) SetAuth(auth Auth) error {
	next, err := r.takeClient(auth)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.read
	r.read = next
	if old != nil && old != next {
		r.listed = nil // another credential may see other refs, or get in at last
	}
	r.mu.Unlock()
	if old != nil {
		r.dropClient(old)
	}
	return nil
}

// Close lets go of connections and files. Readers that are still open work on. The cache
// stays on disk. A Repo of a [Pool] is given back, and closed when nobody has it.
func (r *Repo) Close() error {
	if r.giveBack != nil {
		return r.giveBack()
	}
	return r.close()
}

func (r *Repo) close() error {
	r.mu.Lock()
	r.idle = nil
	for _, c := range r.clients.list {
		c.close()
	}
	r.mu.Unlock()
	r.setPacks(nil)
	return nil
}

// lock waits for the right to change the cache: against this process's other
// goroutines, then against other processes.
func (r *Repo) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another fetch of %s: %w", r.at.normal(), context.Cause(ctx))
	}
	err = os.MkdirAll(r.home, 0o700) // somebody may have made room on the disk
	var file *fileLock
	if err == nil {
		file, err = lockFile(ctx, filepath.Join(r.home, "lock"))
	}
	if err != nil {
		<-r.busy
		return nil, fmt.Errorf("fetch of %s: %w", r.at.normal(), err)
	}
	return func() {
		file.unlock()
		<-r.busy
	}, nil
}

// load brings what is in memory up to what is on disk, which another process
// may have changed. A cache that cannot be loaded is emptied.
func (r *Repo) load() error {
	err := r.tryLoad()
	if err == nil || !errors.Is(err, ErrCorrupt) && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(r.store.dir); err != nil {
		return err
	}
	if err := r.store.create(r.at.normal()); err != nil {
		return err
	}
	return r.tryLoad()
}

func (r *Repo) tryLoad() (err error) {
	if err := r.loadPacks(); err != nil {
		return err
	}
	if r.tips, err = r.store.tips(); err != nil {
		return err
	}
	if r.shallow, err = r.store.shallow(); err != nil {
		return err
	}
	return nil
}

// loadPacks opens the packs that are new, lets go of those that have vanished,
// and keeps the others as they are: their indexes are not read again.
func (r *Repo) loadPacks() error {
	names, err := r.store.packs()
	if err != nil {
		return err
	}
	var next, opened []*pack
	for _, name := range names {
		i := slices.IndexFunc(r.packs, func(p *pack) bool { return p.name == name })
		if i >= 0 {
			next = append(next, r.packs[i])
			continue
		}
		p, err := openPack(r.store.packDir(), name)
		if err != nil {
			closeAll(opened)
			return err
		}
		opened = append(opened, p)
	}
	if len(next) < len(r.packs) || r.verified == nil {
		r.verified = map[plumbing.Hash]plumbing.Hash{} // was true of the packs that are gone
	}
	if len(opened) > 0 || len(next) != len(r.packs) {
		r.setPacks(append(opened, next...))
	}
	return nil
}

func closeAll(packs []*pack) {
	for _, p := range packs {
		_ = p.file.Close() // was only read
	}
}

// setPacks replaces the packs that new Readers see.
func (r *Repo) setPacks(packs []*pack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	retain(packs)
	old := r.packs
	r.packs = packs
	r.generation++
	release(old)
}

// retain and release count who uses a pack, under Repo.mu; the last one closes
// its file.
func retain(packs []*pack) {
	for _, p := range packs {
		p.users++
	}
}

func release(packs []*pack) {
	for _, p := range packs {
		if p.users--; p.users == 0 {
			_ = p.file.Close() // was only read
		}
	}
}
