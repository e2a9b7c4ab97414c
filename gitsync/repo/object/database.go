package object

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/agentry-dev/agentry/gitsync/repo/store"
)

var (
	// ErrNotFound means that no pack has the object.
	ErrNotFound = errors.New("object not found")
	// ErrNoCommit means that no pack has the commit.
	ErrNoCommit = errors.New("commit is not in the cache")
	// ErrPathNotFound means that a tree has no such path.
	ErrPathNotFound = errors.New("path not found")
)

// maxIdleReaders limits the closed Readers kept for reuse. A process can have hundreds of repositories, so only the
// last closed Reader, which is reused first, keeps its cache.
const maxIdleReaders = 4

// Database is the objects of one store. Many goroutines can use it. Load, Compact and Reset need the lock of the
// store.
type Database struct {
	readerCacheBytes int64
	directories      directories

	mu      sync.Mutex
	packs   []*sharedPack
	version int // counts the changes of packs
	idle    []*Reader
	added   []Objects
	damaged bool // a Reader has met corrupt bytes
}

// sharedPack is a pack with the number of its users. The last one closes it.
type sharedPack struct {
	*store.Pack
	users int // guarded by Database.mu
}

// NewDatabase returns a database without packs. Each Reader caches up to readerCacheBytes.
func NewDatabase(readerCacheBytes int64) *Database {
	return &Database{readerCacheBytes: readerCacheBytes}
}

// Load opens the new packs of a store, closes removed ones, and keeps the others without reading their indexes
// again. It reports whether packs were removed. A damaged pack is [store.ErrCorrupt].
func (d *Database) Load(st store.Store) (vanished bool, err error) {
	names, err := st.Packs()
	if err != nil {
		return false, err
	}
	d.mu.Lock()
	known := d.packs
	d.mu.Unlock()
	var next, opened []*sharedPack
	for _, name := range names {
		i := slices.IndexFunc(known, func(p *sharedPack) bool { return p.Name == name })
		if i >= 0 {
			next = append(next, known[i])
			continue
		}
		p, err := st.Open(name)
		if err != nil {
			for _, p := range opened {
				p.Close()
			}
			return false, err
		}
		opened = append(opened, &sharedPack{Pack: p})
	}
	vanished = len(next) < len(known)
	if len(opened) > 0 || vanished {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.setPacks(append(opened, next...))
	}
	return vanished, nil
}

// Reset forgets all packs and their cached contents, because they are damaged or about to be replaced. Open Readers
// keep their packs.
func (d *Database) Reset() {
	d.directories.forget()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setPacks(nil)
	d.damaged = false
}

// Close closes the packs, except the packs of open Readers.
func (d *Database) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = nil
	d.setPacks(nil)
}

// Names returns the names of the packs.
func (d *Database) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := make([]string, len(d.packs))
	for i, p := range d.packs {
		names[i] = p.Name
	}
	return names
}

// Packs returns the number of packs.
func (d *Database) Packs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.packs)
}

// Damaged reports whether a Reader has met corrupt bytes since the last Reset.
func (d *Database) Damaged() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.damaged
}

// corrupt records that an existing object cannot be read, and returns the error.
func (d *Database) corrupt(t plumbing.ObjectType, h plumbing.Hash, err error) error {
	d.mu.Lock()
	d.damaged = true
	d.mu.Unlock()
	return fmt.Errorf("%w: %s %s: %v", store.ErrCorrupt, t, h, err)
}

// Reader opens a Reader. This is cheap: indexes and file descriptors are shared, and the cache of a closed
// Reader is reused.
func (d *Database) Reader() *Reader {
	d.mu.Lock()
	defer d.mu.Unlock()
	var rd *Reader
	if n := len(d.idle); n > 0 {
		rd = d.idle[n-1]
		d.idle = d.idle[:n-1]
	} else {
		objects := cache.NewObjectLRU(cache.FileSize(d.readerCacheBytes))
		rd = &Reader{db: d, views: map[*sharedPack]*packfile.Packfile{}, cache: objects}
	}
	rd.open, rd.added = true, d.added
	d.assign(rd, d.packs)
	return rd
}

// Close returns the Reader. It must not be used afterwards.
func (rd *Reader) Close() {
	d := rd.db
	d.mu.Lock()
	defer d.mu.Unlock()
	if !rd.open {
		return
	}
	rd.open = false
	d.assign(rd, nil)
	if n := len(d.idle); n > 0 {
		d.idle[n-1].cache.Clear()
	}
	if len(d.idle) == maxIdleReaders {
		d.idle = d.idle[1:]
	}
	d.idle = append(d.idle, rd)
}

// assign sets the packs of a Reader. The caller holds mu.
func (d *Database) assign(rd *Reader, packs []*sharedPack) {
	old := rd.packs
	retain(packs)
	rd.packs, rd.last, rd.version = packs, nil, d.version
	release(old)
	for p := range rd.views {
		if p.users == 0 {
			delete(rd.views, p)
		}
	}
}

// extend gives a Reader the packs that were added since, and reports whether there were any.
func (d *Database) extend(rd *Reader) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rd.version == d.version {
		return false
	}
	rd.version = d.version
	fresh := slices.DeleteFunc(slices.Clone(d.packs), func(p *sharedPack) bool { return slices.Contains(rd.packs, p) })
	retain(fresh)
	rd.packs = slices.Concat(rd.packs, fresh)
	return len(fresh) > 0
}

// setPacks replaces the packs of new Readers. The caller holds mu.
func (d *Database) setPacks(packs []*sharedPack) {
	retain(packs)
	old := d.packs
	d.packs = packs
	d.version++
	release(old)
}

// retain and release count the users of packs. The caller holds Database.mu.
func retain(packs []*sharedPack) {
	for _, p := range packs {
		p.users++
	}
}

func release(packs []*sharedPack) {
	for _, p := range packs {
		if p.users--; p.users == 0 {
			p.Close()
		}
	}
}
