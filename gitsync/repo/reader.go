package repo

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// maxIdleReaders is how many closed Readers are kept for the next user. Only the one that
// was closed last, and is opened next, keeps what it has cached: a process may have hundreds of
// repositories.
const maxIdleReaders = 4

// Reader reads objects of the cache. It belongs to one goroutine: go-git's
// views of a pack seek in it. It sees what was there when it was opened, even
// if the cache is replaced meanwhile, and what has come since.
type Reader struct {
	repo  *Repo
	packs []*pack
	at    int // Repo.generation of packs
	open  bool
	views map[*pack]*packfile.Packfile
	last  *pack // where the last object was found; the next one is often there too
	cache cache.Object
}

// Commit is a commit's content.
type Commit struct {
	Hash      plumbing.Hash
	Tree      plumbing.Hash
	Parents   []plumbing.Hash
	Author    object.Signature
	Committer object.Signature
	Message   string
}

// Reader opens a Reader. It costs next to nothing: indexes and descriptors are
// shared, and what a closed Reader had cached is used again.
func (r *Repo) Reader() *Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	var rd *Reader
	if n := len(r.idle); n > 0 {
		rd = r.idle[n-1]
		r.idle = r.idle[:n-1]
	} else {
		objects := cache.NewObjectLRU(cache.FileSize(r.opts.ReaderCacheBytes))
		rd = &Reader{repo: r, views: map[*pack]*packfile.Packfile{}, cache: objects}
	}
	rd.open = true
	rd.adopt(r.packs)
	return rd
}

// adopt makes the Reader see packs. It is called with Repo.mu held.
func (rd *Reader) adopt(packs []*pack) {
	old := rd.packs
	retain(packs)
	rd.packs, rd.last, rd.at = packs, nil, rd.repo.generation
	release(old)
	for p := range rd.views {
		if p.users == 0 {
			delete(rd.views, p)
		}
	}
}

// Close gives the Reader back. It must not be used afterwards.
func (rd *Reader) Close() {
	r := rd.repo
	r.mu.Lock()
	defer r.mu.Unlock()
	if !rd.open {
		return
	}
	rd.open = false
	rd.adopt(nil)
	if n := len(r.idle); n > 0 {
		r.idle[n-1].cache.Clear()
	}
	if len(r.idle) == maxIdleReaders {
		r.idle = r.idle[1:]
	}
	r.idle = append(r.idle, rd)
}

// Has tells whether the object is there, by the packs' indexes only.
func (rd *Reader) Has(h plumbing.Hash) bool { return rd.find(h) != nil }

func (rd *Reader) find(h plumbing.Hash) *pack {
	if rd.last != nil && rd.last.has(h) {
		return rd.last
	}
	looked := 0
	for {
		for _, p := range rd.packs[looked:] {
			if p.has(h) {
				rd.last = p
				return p
			}
		}
		looked = len(rd.packs)
		if !rd.extend() {
			return nil
		}
	}
}

// extend adds the packs that have come since, and tells whether there were any.
func (rd *Reader) extend() bool {
	rd.repo.mu.Lock()
	defer rd.repo.mu.Unlock()
	if rd.at == rd.repo.generation {
		return false
	}
	rd.at = rd.repo.generation
	fresh := slices.DeleteFunc(slices.Clone(rd.repo.packs), func(p *pack) bool { return slices.Contains(rd.packs, p) })
	retain(fresh)
	rd.packs = slices.Concat(rd.packs, fresh)
	return len(fresh) > 0
}

// Commit reads a commit.
func (rd *Reader) Commit(h plumbing.Hash) (*Commit, error) {
	obj, err := rd.object(plumbing.CommitObject, h, 0)
	if err != nil {
		return nil, err
	}
	c := &object.Commit{}
	if err := c.Decode(obj); err != nil {
		return nil, fmt.Errorf("decode commit %s: %w", h, err)
	}
	return &Commit{h, c.TreeHash, c.ParentHashes, c.Author, c.Committer, c.Message}, nil
}

// Blob reads a file's content of at most maxBytes bytes, else it is ErrTooLarge.
// Zero means no limit. The size is known, and checked, before it is unpacked.
func (rd *Reader) Blob(h plumbing.Hash, maxBytes int64) ([]byte, error) {
	obj, err := rd.object(plumbing.BlobObject, h, maxBytes)
	if err != nil {
		return nil, err
	}
	return content(obj)
}

// Tree reads a directory's entries, in git's order. The empty tree need not be
// stored, and the zero hash stands for it. The caller must not change the result.
func (rd *Reader) Tree(h plumbing.Hash) ([]Entry, error) {
	if h.IsZero() || h == emptyTree() {
		return nil, nil
	}
	if entries, ok := rd.repo.directories.get(h); ok && rd.Has(h) {
		return entries, nil
	}
	obj, err := rd.object(plumbing.TreeObject, h, 0)
	if err != nil {
		return nil, err
	}
	raw, err := content(obj)
	if err != nil {
		return nil, err
	}
	entries, err := decodeTree(raw)
	if err != nil {
		return nil, fmt.Errorf("decode tree %s: %w", h, err)
	}
	rd.repo.directories.put(h, entries)
	return entries, nil
}

// Lookup finds what a tree holds at a slash-separated path. The path "" or "."
// is the tree itself. Symlinks are not followed. What is not there is
// ErrPathNotFound.
func (rd *Reader) Lookup(tree plumbing.Hash, name string) (Entry, error) {
	at := Entry{Mode: filemode.Dir, Hash: tree}
	name = path.Clean("/" + name)[1:]
	if name == "" {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if at.Mode != filemode.Dir {
			return Entry{}, fmt.Errorf("%w: %s", ErrPathNotFound, name)
		}
		entries, err := rd.Tree(at.Hash)
		if err != nil {
			return Entry{}, err
		}
		var ok bool
		if at, ok = entryNamed(entries, part); !ok {
			return Entry{}, fmt.Errorf("%w: %s", ErrPathNotFound, name)
		}
	}
	return at, nil
}

// object reads an object of a type and, unless maxBytes is 0, of a size.
func (rd *Reader) object(t plumbing.ObjectType, h plumbing.Hash, maxBytes int64) (plumbing.EncodedObject, error) {
	p := rd.find(h)
	if p == nil {
		return nil, fmt.Errorf("%w: %s %s", ErrObjectNotFound, t, h)
	}
	view := rd.views[p]
	if view == nil {
		view = p.open(rd.cache)
		rd.views[p] = view
	}
	if maxBytes > 0 {
		size, err := rd.size(view, h)
		if err != nil {
			return nil, rd.suspect(t, h, err)
		}
		if size > maxBytes {
			return nil, fmt.Errorf("%s %s: %w: %d bytes of at most %d", t, h, ErrTooLarge, size, maxBytes)
		}
	}
	obj, err := view.Get(h)
	if err != nil {
		return nil, rd.suspect(t, h, err)
	}
	if obj.Type() != t {
		return nil, fmt.Errorf("%w: %s is a %s and no %s", ErrObjectNotFound, h, obj.Type(), t)
	}
	return obj, nil
}

// size is what an object is declared to unpack to; it is not unpacked for that.
func (rd *Reader) size(view *packfile.Packfile, h plumbing.Hash) (int64, error) {
	if obj, ok := rd.cache.Get(h); ok {
		return obj.Size(), nil
	}
	offset, err := view.FindOffset(h)
	if err != nil {
		return 0, err
	}
	return view.GetSizeByOffset(offset)
}

// suspect makes the next fetch replace the cache if an object that should be
// there cannot be read.
func (rd *Reader) suspect(t plumbing.ObjectType, h plumbing.Hash, err error) error {
	rd.repo.mu.Lock()
	rd.repo.distrust = true
	rd.repo.mu.Unlock()
	return fmt.Errorf("%w: %s %s: %v", ErrCorrupt, t, h, err)
}

func content(obj plumbing.EncodedObject) (buf []byte, err error) {
	in, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	buf = make([]byte, obj.Size())
	if _, err := io.ReadFull(in, buf); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", obj.Type(), obj.Hash(), err)
	}
	return buf, nil
}
