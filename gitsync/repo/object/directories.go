package object

import (
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// largeEntries is the size, in entries, from which a directory is large.
	largeEntries = 128
	// maxKeptEntries limits the total of kept entries of each size, about 100 bytes each.
	maxKeptEntries = 1 << 15
)

// directories caches decoded directories by hash. A pass reads a few directories with thousands of names again and
// again, which must not make room for others: these are read some times by one stage after the other.
type directories struct{ small, large generation }

func (d *directories) get(h plumbing.Hash) ([]Entry, bool) {
	if entries, ok := d.large.get(h); ok {
		return entries, true
	}
	return d.small.get(h)
}

func (d *directories) put(h plumbing.Hash, entries []Entry) {
	if len(entries) < largeEntries {
		d.small.put(h, entries)
	} else {
		d.large.put(h, entries)
	}
}

// forget drops all directories, because they may have been read from a damaged cache.
func (d *directories) forget() {
	d.small.forget()
	d.large.forget()
}

// generation holds the directories of a size that were read last.
type generation struct {
	mu      sync.Mutex
	known   map[plumbing.Hash][]Entry
	order   []plumbing.Hash // the keys of known, oldest first
	entries int             // the total number of entries
}

func (d *generation) get(h plumbing.Hash) ([]Entry, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries, ok := d.known[h]
	return entries, ok
}

func (d *generation) put(h plumbing.Hash, entries []Entry) {
	if len(entries) > maxKeptEntries {
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

func (d *generation) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.order, d.entries = nil, nil, 0
}
