package object

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/store"
)

var (
	errIsFile      = errors.New("is a file, not a directory")
	errIsDirectory = errors.New("is a directory, not a file")
)

// Edit is the new content of a path, or its removal.
type Edit struct {
	Data   []byte // the caller must not change it afterwards
	Blob   *Blob  // in place of Data, unless it is nil
	Remove bool   // removing a missing file is not an error
}

// Hash returns the hash of the new content.
func (e Edit) Hash() plumbing.Hash {
	if e.Blob != nil {
		return e.Blob.Hash
	}
	return HashOf(e.Data)
}

// EditTree returns a tree that differs from base only at the paths of edits. Unchanged subtrees keep their
// hashes, empty directories are removed, and entries of other kinds stay. If nothing changes, the result is
// base. The zero hash is the empty tree.
//
// It removes files first, so that a directory can replace a file, and a file a directory. It is an error to write a
// file where a directory is, to write below a file, or to remove a directory.
func (w *Writer) EditTree(base plumbing.Hash, edits map[string]Edit) (plumbing.Hash, error) {
	removals, files := &node{}, &node{}
	for name, edit := range edits {
		root, set := files, w.setFile(edit)
		if edit.Remove {
			root, set = removals, removeFile
		}
		leaf, err := root.at(name)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("edit %s: %w", name, err)
		}
		leaf.set = set
	}
	tree, err := rewriter{w: w, lenient: true}.root(base, removals)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return rewriter{w: w}.root(tree, files)
}

// setFile returns an edit that writes a file. An equal file makes no new object.
func (w *Writer) setFile(e Edit) func(Entry) (Entry, error) {
	return func(old Entry) (Entry, error) {
		if old.Mode == filemode.Dir {
			return Entry{}, errIsDirectory
		}
		next := Entry{Mode: filemode.Regular, Hash: e.Hash()}
		switch {
		case old.Hash == next.Hash:
		case e.Blob != nil:
			w.objects[next.Hash] = store.Object{Hash: next.Hash, Kind: plumbing.BlobObject, Deflated: e.Blob.deflated,
				Size: e.Blob.size}
		default:
			w.objects[next.Hash] = store.Object{Hash: next.Hash, Kind: plumbing.BlobObject, Content: e.Data}
		}
		return next, nil
	}
}

func removeFile(old Entry) (Entry, error) {
	if old.Mode == filemode.Dir {
		return Entry{}, errIsDirectory
	}
	return Entry{}, nil
}

// directory returns the entry of a directory, or the zero Entry if it is empty.
func directory(tree plumbing.Hash) Entry {
	if tree.IsZero() || tree == emptyTree() {
		return Entry{}
	}
	return Entry{Mode: filemode.Dir, Hash: tree}
}

// node is a path to edit, or a directory above one.
type node struct {
	set      func(old Entry) (Entry, error) // makes the new entry; nil if this path has no edit
	children map[string]*node
}

// at returns the node of a path, and creates it if necessary.
func (n *node) at(name string) (*node, error) {
	for part := range strings.SplitSeq(name, "/") {
		if !isName(part) || strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return nil, fmt.Errorf("the file name %q is not allowed in Git", part)
		}
		child := n.children[part]
		if child == nil {
			if n.children == nil {
				n.children = map[string]*node{}
			}
			child = &node{}
			n.children[part] = child
		}
		n = child
	}
	return n, nil
}

// rewriter applies nodes to a tree and writes the changed directories.
type rewriter struct {
	w       *Writer
	lenient bool // ignores edits below a file
}

func (r rewriter) root(base plumbing.Hash, n *node) (plumbing.Hash, error) {
	tree, err := r.directory(base, n, "")
	if err == nil && tree.IsZero() {
		tree = r.w.put(plumbing.TreeObject, nil)
	}
	return tree, err
}

// directory edits a directory, and returns the zero hash if it becomes empty.
func (r rewriter) directory(old plumbing.Hash, n *node, name string) (plumbing.Hash, error) {
	if len(n.children) == 0 {
		return old, nil
	}
	entries, err := r.w.Tree(old)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("edit directory %q: %w", name, err)
	}
	next := make([]Entry, 0, len(entries)+len(n.children))
	present := map[string]Entry{}
	for _, e := range entries {
		if n.children[e.Name] == nil {
			next = append(next, e)
			continue
		}
		present[e.Name] = e
	}
	changed := false
	for part, child := range n.children {
		was := present[part]
		is, err := r.entry(was, child, name+part)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		changed = changed || is.Hash != was.Hash || is.Mode != was.Mode
		if !is.Hash.IsZero() {
			is.Name = part
			next = append(next, is)
		}
	}
	switch {
	case !changed:
		return old, nil
	case len(next) == 0:
		return plumbing.ZeroHash, nil
	}
	return r.w.put(plumbing.TreeObject, encodeTree(next)), nil
}

// entry edits the paths below an entry, then the entry itself.
func (r rewriter) entry(e Entry, n *node, name string) (Entry, error) {
	isFile := e.Mode != filemode.Dir && e.Mode != filemode.Empty
	switch {
	case len(n.children) == 0 || isFile && r.lenient:
	case isFile:
		return Entry{}, fmt.Errorf("edit below %s: %w", name, errIsFile)
	default:
		tree, err := r.directory(e.Hash, n, name+"/")
		if err != nil {
			return Entry{}, err
		}
		e = directory(tree)
	}
	if n.set == nil {
		return e, nil
	}
	e, err := n.set(e)
	if err != nil {
		return Entry{}, fmt.Errorf("edit %s: %w", name, err)
	}
	return e, nil
}
