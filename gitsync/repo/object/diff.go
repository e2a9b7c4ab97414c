package object

import (
	"errors"
	"fmt"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// WalkOptions limit a walk. The zero value of a limit means its default.
type WalkOptions struct {
	// Prefix is the path to start at. It can be a file. A tree without it counts as empty. Reported paths include it.
	Prefix string
	// MaxFiles limits the reported files and the directories read: a few small trees can name each other any number of
	// times. Above it the walk ends with limit.ErrTooLarge. Default 1,000,000.
	MaxFiles int
	// MaxDepth limits the depth of directories. Above it the walk ends with limit.ErrTooLarge. Default 64.
	MaxDepth int
}

const defaultFiles, defaultDepth = 1_000_000, 64

// Change is a path at which two trees differ. Old is zero if the path is new, New if it was removed. Both are files,
// symlinks or submodules, never directories.
type Change struct {
	Path     string
	Old, New Entry
}

// DiffTrees calls f for every path at which two trees differ, in Git's order. It reads only directories whose hashes
// differ. If a directory became a file or a file a directory, it reports the removed and the new paths. The zero
// hash is the empty tree. An error of f ends the walk and is returned.
func DiffTrees(rd *Reader, from, to plumbing.Hash, opts WalkOptions, f func(Change) error) error {
	d := differ{rd: rd, files: opts.MaxFiles, depth: opts.MaxDepth, f: f}
	if d.files <= 0 {
		d.files = defaultFiles
	}
	if d.depth <= 0 {
		d.depth = defaultDepth
	}
	d.dirs = d.files + d.depth
	a, err := lookupIfThere(rd, from, opts.Prefix)
	if err != nil {
		return err
	}
	b, err := lookupIfThere(rd, to, opts.Prefix)
	if err != nil {
		return err
	}
	return d.entries(path.Clean("/" + opts.Prefix)[1:], a, b, 0)
}

// Walk calls f for every file, symlink and submodule of a tree, in Git's order.
func Walk(rd *Reader, tree plumbing.Hash, opts WalkOptions, f func(name string, e Entry) error) error {
	return DiffTrees(rd, plumbing.ZeroHash, tree, opts, func(c Change) error { return f(c.Path, c.New) })
}

func lookupIfThere(rd *Reader, tree plumbing.Hash, name string) (Entry, error) {
	e, err := rd.Lookup(tree, name)
	if errors.Is(err, ErrPathNotFound) {
		return Entry{}, nil
	}
	return e, err
}

type differ struct {
	rd    *Reader
	files int // files that may still be reported
	dirs  int // directories that may still be read
	depth int
	f     func(Change) error
}

// entries compares the two entries at name, either of which may be zero. Two files are one change. A directory is
// compared only with a directory or nothing.
func (d *differ) entries(name string, a, b Entry, depth int) error {
	if a.Hash == b.Hash && a.Mode == b.Mode {
		return nil
	}
	aDir, bDir := a.Mode == filemode.Dir, b.Mode == filemode.Dir
	switch {
	case aDir && bDir, aDir && b == Entry{}, bDir && a == Entry{}:
		return d.trees(name, a.Hash, b.Hash, depth)
	case aDir || bDir:
		if err := d.entries(name, a, Entry{}, depth); err != nil {
			return err
		}
		return d.entries(name, Entry{}, b, depth)
	}
	if d.files--; d.files < 0 {
		return fmt.Errorf("%w: too many files, at %s", limit.ErrTooLarge, name)
	}
	return d.f(Change{Path: name, Old: a, New: b})
}

// trees merges two sorted directories.
func (d *differ) trees(name string, from, to plumbing.Hash, depth int) error {
	if depth > d.depth {
		return fmt.Errorf("%w: directories are nested too deep, at %s", limit.ErrTooLarge, name)
	}
	if d.dirs--; d.dirs < 0 {
		return fmt.Errorf("%w: too many directories, at %s", limit.ErrTooLarge, name)
	}
	a, err := d.rd.Tree(from)
	if err != nil {
		return fmt.Errorf("read directory %q: %w", name, err)
	}
	b, err := d.rd.Tree(to)
	if err != nil {
		return fmt.Errorf("read directory %q: %w", name, err)
	}
	for len(a) > 0 || len(b) > 0 {
		var x, y Entry
		if len(b) == 0 || len(a) > 0 && compareEntries(a[0], b[0]) <= 0 {
			x = a[0]
		}
		if len(a) == 0 || len(b) > 0 && compareEntries(b[0], a[0]) <= 0 {
			y = b[0]
		}
		child := x.Name
		if x != (Entry{}) {
			a = a[1:]
		}
		if y != (Entry{}) {
			b, child = b[1:], y.Name
		}
		if err := d.entries(path.Join(name, child), x, y, depth+1); err != nil {
			return err
		}
	}
	return nil
}
