package object

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// Reader reads objects. It belongs to one goroutine, because go-git's view of a pack has a position. It sees the
// packs that existed when it was opened, even after they are removed, and packs added since.
type Reader struct {
	db      *Database
	packs   []*sharedPack
	version int // the Database.version that packs belongs to
	open    bool
	views   map[*sharedPack]*packfile.Packfile
	last    *sharedPack // the pack of the last object found, which often has the next one too
	cache   cache.Object
	added   []Objects // which are asked first
}

// Commit is the content of a commit.
type Commit struct {
	Hash      plumbing.Hash
	Tree      plumbing.Hash
	Parents   []plumbing.Hash
	Author    object.Signature
	Committer object.Signature
	Message   string
	IsDraft   bool // nobody has committed it: its id means nothing
}

// Has reports whether an object exists. It reads only the indexes of packs.
func (rd *Reader) Has(h plumbing.Hash) bool {
	return objectsWith(rd.added, h) != nil || rd.find(h) != nil
}

func (rd *Reader) find(h plumbing.Hash) *sharedPack {
	if rd.last != nil && rd.last.Has(h) {
		return rd.last
	}
	searched := 0
	for {
		for _, p := range rd.packs[searched:] {
			if p.Has(h) {
				rd.last = p
				return p
			}
		}
		searched = len(rd.packs)
		if !rd.db.extend(rd) {
			return nil
		}
	}
}

// Commit reads a commit. The error is [ErrNotFound] if it is not in the cache.
func (rd *Reader) Commit(h plumbing.Hash) (*Commit, error) {
	if o := objectsWith(rd.added, h); o != nil {
		return o.Commit(h)
	}
	obj, err := rd.object(plumbing.CommitObject, h, 0)
	if err != nil {
		return nil, err
	}
	c := &object.Commit{}
	if err := c.Decode(obj); err != nil {
		return nil, fmt.Errorf("decode commit %s: %w", h, err)
	}
	return &Commit{Hash: h, Tree: c.TreeHash, Parents: c.ParentHashes, Author: c.Author, Committer: c.Committer,
		Message: c.Message}, nil
}

// BlobSize returns the size of a file, without unpacking it.
func (rd *Reader) BlobSize(h plumbing.Hash) (int64, error) {
	if o := objectsWith(rd.added, h); o != nil {
		return o.BlobSize(h)
	}
	p := rd.find(h)
	if p == nil {
		return 0, fmt.Errorf("%w: %s %s", ErrNotFound, plumbing.BlobObject, h)
	}
	size, err := rd.size(rd.view(p), h)
	if err != nil {
		return 0, rd.db.corrupt(plumbing.BlobObject, h, err)
	}
	return size, nil
}

// Blob reads the content of a file. A file of more than maxBytes is not unpacked and returns [limit.ErrTooLarge];
// zero means no limit.
func (rd *Reader) Blob(h plumbing.Hash, maxBytes int64) ([]byte, error) {
	if o := objectsWith(rd.added, h); o != nil {
		return o.Blob(h, maxBytes)
	}
	obj, err := rd.object(plumbing.BlobObject, h, maxBytes)
	if err != nil {
		return nil, err
	}
	return content(obj)
}

// Tree returns the entries of a directory in Git's order. The zero hash is the empty tree, which need not be stored.
// The caller must not change the result.
func (rd *Reader) Tree(h plumbing.Hash) ([]Entry, error) {
	if h.IsZero() || h == emptyTree() {
		return nil, nil
	}
	if o := objectsWith(rd.added, h); o != nil {
		return o.Tree(h)
	}
	if entries, ok := rd.db.directories.get(h); ok && rd.Has(h) {
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
	entries, err := DecodeTree(raw)
	if err != nil {
		return nil, fmt.Errorf("decode tree %s: %w", h, err)
	}
	rd.db.directories.put(h, entries)
	return entries, nil
}

// Lookup returns the entry at a slash-separated path of a tree. The path "" or "." is the tree itself. It does not
// follow symlinks. If there is no entry, the error is [ErrPathNotFound].
func (rd *Reader) Lookup(tree plumbing.Hash, name string) (Entry, error) {
	return lookup(rd.Tree, tree, name)
}

func lookup(read func(tree plumbing.Hash) ([]Entry, error), tree plumbing.Hash, name string) (Entry, error) {
	at := Entry{Mode: filemode.Dir, Hash: tree}
	name = path.Clean("/" + name)[1:]
	if name == "" {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if at.Mode != filemode.Dir {
			return Entry{}, fmt.Errorf("%w: %s", ErrPathNotFound, name)
		}
		entries, err := read(at.Hash)
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

// object reads an object of the given type. maxBytes limits its size; zero means no limit.
func (rd *Reader) object(t plumbing.ObjectType, h plumbing.Hash, maxBytes int64) (plumbing.EncodedObject, error) {
	p := rd.find(h)
	if p == nil {
		return nil, fmt.Errorf("%w: %s %s", ErrNotFound, t, h)
	}
	view := rd.view(p)
	if maxBytes > 0 {
		size, err := rd.size(view, h)
		if err != nil {
			return nil, rd.db.corrupt(t, h, err)
		}
		if size > maxBytes {
			return nil, fmt.Errorf("%s %s: %w: %d bytes, at most %d are allowed", t, h, limit.ErrTooLarge, size,
				maxBytes)
		}
	}
	obj, err := view.Get(h)
	if err != nil {
		return nil, rd.db.corrupt(t, h, err)
	}
	if obj.Type() != t {
		return nil, fmt.Errorf("%w: %s is a %s, not a %s", ErrNotFound, h, obj.Type(), t)
	}
	return obj, nil
}

// view returns this Reader's view of a pack.
func (rd *Reader) view(p *sharedPack) *packfile.Packfile {
	if rd.views[p] == nil {
		rd.views[p] = p.View(rd.cache)
	}
	return rd.views[p]
}

// size returns the declared size of an object, without unpacking it.
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
