package repo

import (
	"bytes"
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

// pack is a pack file and its index. It is immutable and shared by all Readers:
// the index is decoded once, and the one descriptor is read at offsets, so it
// outlives the removal of its file.
type pack struct {
	name  string // pack-<checksum>, without extension
	index *idxfile.MemoryIndex
	file  *os.File
	size  int64
	users int // guarded by Repo.mu
}

// has tells whether the pack holds the object.
func (p *pack) has(h plumbing.Hash) bool {
	ok, err := p.index.Contains(h)
	return err == nil && ok
}

// open gives a view for one goroutine. It holds no resources.
func (p *pack) open(objects cache.Object) *packfile.Packfile {
	view := &packView{io.NewSectionReader(p.file, 0, p.size), p.name}
	return packfile.NewPackfileWithCache(p.index, nil, view, objects, 0)
}

// openPack opens a pack and the index beside it.
func openPack(dir, name string) (*pack, error) {
	base := filepath.Join(dir, name)
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
	p := &pack{name: name, index: index, file: file}
	if err := p.checkEnd(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

// checkEnd finds packs that were cut short: the last bytes of a pack are its
// checksum, which the index repeats.
func (p *pack) checkEnd() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.size = info.Size()
	var end [len(p.index.PackfileChecksum)]byte
	if _, err := p.file.ReadAt(end[:], max(0, p.size-int64(len(end)))); err != nil {
		return fmt.Errorf("%w: end of %s: %v", ErrCorrupt, p.name, err)
	}
	if end != p.index.PackfileChecksum {
		return fmt.Errorf("%w: %s does not end in its checksum", ErrCorrupt, p.name)
	}
	return nil
}

// errBadPack means that a remote has sent a pack that is malformed or cut off.
var errBadPack = errors.New("received pack is unusable")

// receivePackFile copies a pack from in to dir, indexes it and gives its name.
// The name is empty if the pack holds no objects. A pack of more than maxBytes,
// or with an object of more than maxObject, is ErrTooLarge.
func receivePackFile(dir string, in io.Reader, maxBytes, maxObject int64) (name string, err error) {
	tmp, err := os.CreateTemp(dir, "tmp_pack_")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, tmp.Close(), removeIfThere(tmp.Name())) }()
	limited := &limitReader{in: in, left: maxBytes, what: fmt.Sprintf("the pack has more than %d bytes", maxBytes)}
	if _, err := io.Copy(tmp, limited); err != nil {
		return "", err
	}
	index, err := indexPack(tmp, maxObject)
	if err != nil {
		return "", err
	}
	if n, err := index.Count(); err != nil || n == 0 {
		return "", err
	}
	return savePack(dir, tmp.Name(), index)
}

func indexPack(file *os.File, maxObject int64) (*idxfile.MemoryIndex, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if err := checkSizes(file, maxObject); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	writer := &idxfile.Writer{}
	parser, err := packfile.NewParser(packfile.NewScanner(file), writer)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadPack, err)
	}
	return writer.Index()
}

// savePack gives the pack in tmp its name, the index first: a pack counts when
// the .pack is there.
func savePack(dir, tmp string, index *idxfile.MemoryIndex) (string, error) {
	var buf bytes.Buffer
	if _, err := idxfile.NewEncoder(&buf).Encode(index); err != nil {
		return "", err
	}
	name := fmt.Sprintf("pack-%x", index.PackfileChecksum)
	if err := writeFile(filepath.Join(dir, name+".idx"), buf.Bytes()); err != nil {
		return "", err
	}
	return name, os.Rename(tmp, filepath.Join(dir, name+".pack"))
}

// writeFile replaces a file in one step, so that no reader sees half of it.
func writeFile(name string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), "tmp_")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	return errors.Join(err, removeIfThere(tmp.Name()))
}

func removeIfThere(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// renameIfThere renames a folder that somebody may have deleted.
func renameIfThere(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// packView lets go-git read a pack through a descriptor that others use too.
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
