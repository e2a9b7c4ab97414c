package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Pack is a pack file and its index. It is immutable, and stays readable after the file is removed: the index is
// decoded once, and all reads go through one file descriptor.
type Pack struct {
	Name string // pack-<checksum>, without extension
	Size int64  // of the file

	index *idxfile.MemoryIndex
	file  *os.File
}

// Has reports whether the pack has the object.
func (p *Pack) Has(h plumbing.Hash) bool {
	ok, err := p.index.Contains(h)
	return err == nil && ok
}

// View returns a view for one goroutine, with objects as its cache. It need not be closed.
func (p *Pack) View(objects cache.Object) *packfile.Packfile {
	view := &packView{io.NewSectionReader(p.file, 0, p.Size), p.Name}
	return packfile.NewPackfileWithCache(p.index, nil, view, objects, 0)
}

// Hashes returns the hashes of the objects in the pack.
func (p *Pack) Hashes() ([]plumbing.Hash, error) {
	entries, err := p.index.Entries()
	if err != nil {
		return nil, err
	}
	var out []plumbing.Hash
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, entry.Hash)
	}
}

// Close closes the file. Views must not be used afterwards.
func (p *Pack) Close() {
	_ = p.file.Close() // nothing was written
}

// Open opens a pack and its index. If one is damaged, the error is [ErrCorrupt].
func (s Store) Open(name string) (*Pack, error) {
	base := s.packPath(name)
	idx, err := os.Open(base + ".idx")
	if err != nil {
		return nil, err
	}
	index := idxfile.NewMemoryIndex()
	err = idxfile.NewDecoder(idx).Decode(index)
	if err = errors.Join(err, idx.Close()); err != nil {
		return nil, fmt.Errorf("%w: index of %s: %v", ErrCorrupt, name, err)
	}
	file, err := os.Open(base + ".pack")
	if err != nil {
		return nil, err
	}
	p := &Pack{Name: name, index: index, file: file}
	if err := p.checkEnd(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

// packPath returns the path of a pack, without extension.
func (s Store) packPath(name string) string { return filepath.Join(s.packDir(), name) }

// checkEnd refuses a truncated pack: the last bytes of a pack are its checksum, which the index repeats.
func (p *Pack) checkEnd() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.Size = info.Size()
	var end [len(p.index.PackfileChecksum)]byte
	if _, err := p.file.ReadAt(end[:], max(0, p.Size-int64(len(end)))); err != nil {
		return fmt.Errorf("%w: end of %s: %v", ErrCorrupt, p.Name, err)
	}
	if end != p.index.PackfileChecksum {
		return fmt.Errorf("%w: %s does not end in its checksum", ErrCorrupt, p.Name)
	}
	return nil
}

// packView lets go-git read a pack through a shared file descriptor.
type packView struct {
	*io.SectionReader
	name string
}

var errReadOnly = errors.New("pack is read-only")

func (v *packView) Name() string              { return v.name }
func (v *packView) Close() error              { return nil }
func (v *packView) Write([]byte) (int, error) { return 0, errReadOnly }
func (v *packView) Truncate(int64) error      { return errReadOnly }
func (v *packView) Lock() error               { return nil }
func (v *packView) Unlock() error             { return nil }
