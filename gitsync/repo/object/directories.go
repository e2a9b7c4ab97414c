package object

import (
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// minKeptEntries is the size, in entries, from which decoded directories are kept.
	minKeptEntries = 128
	// maxKeptEntries limits the total of kept entries, about 100 bytes each.
	maxKeptEntries = 1 << 15
)

// directories caches large decoded directories by hash, because a pass reads a few directories with thousands of
// names again and again.
type directories struct {
	mu      sync.Mutex
	known   map[plumbing.Hash][]Entry
	order   []plumbing.Hash // the keys of known, oldest first
	entries int             // the total number of entries
}

func (d *directories) get(h plumbing.Hash) ([]Entry, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries, ok := d.known[h]
	return entries, ok
}

func (d *directories) put(h plumbing.Hash, entries []Entry) {
	if len(entries) < minKeptEntries || len(entries) > maxKeptEntries {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.known[h]; ok {
		return
	}
	if d.known == nil {
		d.known = map[plumbing.Hash][]Entry{}
	}
	d.known[h], d.order = entries, append(d.order, h)
	for d.entries += len(entries); d.entries > maxKeptEntries; d.order = d.order[1:] {
		d.entries -= len(d.known[d.order[0]])
		delete(d.known, d.order[0])
	}
}

// forget drops all directories, because they may have been read from a damaged cache.
func (d *directories) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.order, d.entries = nil, nil, 0
}
