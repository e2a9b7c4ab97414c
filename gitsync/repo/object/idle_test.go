package object

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// TestTheLastClosedReaderKeepsItsCache: the next user gets the Reader that was closed last.
func TestTheLastClosedReaderKeepsItsCache(t *testing.T) {
	d := NewDatabase(1 << 20)
	o := &plumbing.MemoryObject{}
	if _, err := o.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	var readers []*Reader
	for range maxIdleReaders + 2 {
		readers = append(readers, d.Reader())
	}
	for _, rd := range readers {
		rd.cache.Put(o)
		rd.Close()
	}
	last := len(readers) - 1
	for i, rd := range readers[last-maxIdleReaders+1:] {
		if _, kept := rd.cache.Get(o.Hash()); kept != (i == maxIdleReaders-1) {
			t.Errorf("idle reader %d of %d keeps its cache: %t", i+1, maxIdleReaders, kept)
		}
	}
	if len(d.idle) != maxIdleReaders || d.Reader() != readers[last] {
		t.Errorf("%d are idle, and the last is not used next", len(d.idle))
	}
}
