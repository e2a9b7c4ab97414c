package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// ErrBadPack means that a received pack is malformed or truncated.
var ErrBadPack = errors.New("received pack is unusable")

// Receive reads a pack and adds it, unless it has no objects. A pack above the limits is [limit.ErrTooLarge], an
// invalid one [ErrBadPack].
func (s Store) Receive(ctx context.Context, in io.Reader, limits Limits) (err error) {
	tmp, err := os.CreateTemp(s.packDir(), "tmp_pack_")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tmp.Close(), removeIfThere(tmp.Name())) }()
	limited := limit.Reader(in, limits.PackBytes, fmt.Sprintf("the pack has more than %d bytes", limits.PackBytes))
	if _, err := io.Copy(tmp, limited); err != nil {
		return err
	}
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	idx, err := index(ctx, tmp, limits)
	if err != nil {
		return err
	}
	if n, err := idx.Count(); err != nil || n == 0 {
		return err
	}
	_, err = s.save(tmp.Name(), idx)
	return err
}

// save renames the pack in tmp to its final name. It writes the index first, because a pack exists once its .pack does.
func (s Store) save(tmp string, index *idxfile.MemoryIndex) (string, error) {
	var buf bytes.Buffer
	if _, err := idxfile.NewEncoder(&buf).Encode(index); err != nil {
		return "", err
	}
	name := fmt.Sprintf("pack-%x", index.PackfileChecksum)
	if err := writeFile(s.packPath(name)+".idx", buf.Bytes()); err != nil {
		return "", err
	}
	return name, os.Rename(tmp, s.packPath(name)+".pack")
}

// Add stores a pack and returns its name.
func (s Store) Add(p Packed) (name string, err error) {
	tmp, err := os.CreateTemp(s.packDir(), "tmp_pack_")
	if err != nil {
		return "", err
	}
	out := bufio.NewWriterSize(tmp, 64<<10)
	for _, part := range p.Parts {
		_, _ = out.Write(part) // Flush returns the first error
	}
	if err = errors.Join(out.Flush(), tmp.Close()); err != nil {
		return "", errors.Join(err, removeIfThere(tmp.Name()))
	}
	return s.save(tmp.Name(), p.index)
}

// Remove removes a pack.
func (s Store) Remove(name string) error {
	return errors.Join(removeIfThere(s.packPath(name)+".pack"), removeIfThere(s.packPath(name)+".idx"))
}

// Has reports whether a pack of the store has an object. It opens each pack, which an object.Database does only once.
func (s Store) Has(h plumbing.Hash) (bool, error) {
	names, err := s.Packs()
	if err != nil {
		return false, err
	}
	for _, name := range names {
		p, err := s.Open(name)
		if err != nil {
			return false, err
		}
		found := p.Has(h)
		p.Close()
		if found {
			return true, nil
		}
	}
	return false, nil
}
