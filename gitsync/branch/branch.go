package branch

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Branch is the output branch at its tip. It is not safe for concurrent use.
type Branch struct {
	Commit    plumbing.Hash // zero if the branch does not exist
	Tree      plumbing.Hash
	Parents   []plumbing.Hash
	Inventory *Inventory       // nil if agentry does not own the path
	Units     map[string]*Unit // the units in the inventory; set by [Branch.Open]
	HasOthers bool             // whether there are files at the path but no inventory; set by [Branch.Open]

	path     string
	reader   *object.Reader
	cache    *Cache
	unlisted map[string]*Unit // requested units that are not in the inventory
	last     *plumbing.Hash   // see lastFolder
}

// Cache keeps the folders that a pass read for the next pass, so that its cost depends on the size of the change and
// not on the number of units. The zero value is empty.
type Cache struct {
	last, now map[plumbing.Hash]map[string]object.Entry
}

// Read reads the inventory at a path of a commit of the output branch. The zero commit means that the branch does not
// exist.
func Read(rd *object.Reader, commit plumbing.Hash, outputPath string) (*Branch, error) {
	b := &Branch{Commit: commit, path: outputPath, Units: map[string]*Unit{}, unlisted: map[string]*Unit{}}
	if commit.IsZero() {
		return b, nil
	}
	c, err := rd.Commit(commit)
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", commit, err)
	}
	b.Tree, b.Parents = c.Tree, c.Parents
	b.Inventory, err = findInventory(rd, c, outputPath)
	return b, err
}

// Open reads the folders of the units. The branch uses the reader until the next call of Open with the same cache.
func (b *Branch) Open(rd *object.Reader, cache *Cache) error {
	b.reader, b.cache = rd, cache
	cache.last, cache.now = cache.now, map[plumbing.Hash]map[string]object.Entry{}
	if b.Commit.IsZero() {
		return nil
	}
	if b.Inventory == nil {
		var err error
		b.HasOthers, err = b.hasFiles()
		return err
	}
	for _, name := range b.Inventory.units {
		if !isUnitName(name) {
			continue
		}
		u, err := b.folder(name)
		if err != nil {
			return err
		}
		u.Known = true
		b.Units[name] = u
	}
	return nil
}

// folder returns the folder of a unit.
func (b *Branch) folder(name string) (*Unit, error) {
	u := &Unit{Name: name, branch: b}
	entry, err := b.Lookup(b.At(name))
	switch {
	case err == nil && entry.Mode == filemode.Dir:
		u.Dir = entry.Hash
	case err != nil && !errors.Is(err, object.ErrPathNotFound):
		return nil, err
	}
	return u, nil
}

// Unit returns the folder of a unit. It loads an unlisted unit at once, because its folder can contain foreign files
// or, if somebody changed the list, files of agentry.
func (b *Branch) Unit(name string) (*Unit, error) {
	if u := b.Units[name]; u != nil {
		return u, nil
	}
	if u := b.unlisted[name]; u != nil {
		return u, nil
	}
	u, err := b.folder(name)
	if err != nil {
		return nil, err
	}
	b.unlisted[name] = u
	if u.Dir.IsZero() {
		return u, nil
	}
	return u, u.Load()
}

// Lookup returns the entry at a path from the root of the branch. If there is none, the error is
// [object.ErrPathNotFound].
func (b *Branch) Lookup(name string) (object.Entry, error) {
	entry := object.Entry{Mode: filemode.Dir, Hash: b.Tree}
	if name == "." {
		return entry, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if entry.Mode != filemode.Dir {
			return object.Entry{}, fmt.Errorf("%s: %w", name, object.ErrPathNotFound)
		}
		dir, err := b.dir(entry.Hash)
		if err != nil {
			return object.Entry{}, err
		}
		var ok bool
		if entry, ok = dir[part]; !ok {
			return object.Entry{}, fmt.Errorf("%s: %w", name, object.ErrPathNotFound)
		}
	}
	return entry, nil
}

// dir returns the entries of a folder.
func (b *Branch) dir(h plumbing.Hash) (map[string]object.Entry, error) {
	if dir, ok := b.cache.now[h]; ok {
		return dir, nil
	}
	dir, ok := b.cache.last[h]
	if !ok {
		list, err := b.reader.Tree(h)
		if err != nil {
			return nil, err
		}
		dir = make(map[string]object.Entry, len(list))
		for _, e := range list {
			dir[e.Name] = e
		}
	}
	b.cache.now[h] = dir
	return dir, nil
}

// At converts a path below the output path to a path from the root of the branch.
func (b *Branch) At(elem ...string) string {
	return path.Join(append([]string{b.path}, elem...)...)
}

// hasFiles reports whether the output path has any files.
func (b *Branch) hasFiles() (bool, error) {
	entry, err := b.Lookup(b.At())
	if errors.Is(err, object.ErrPathNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if entry.Mode != filemode.Dir {
		return true, nil
	}
	entries, err := b.dir(entry.Hash)
	return len(entries) > 0, err
}

// Equals compares the file at a path from the root of the branch with data.
func (b *Branch) Equals(name string, content plumbing.Hash) (same, exists bool, err error) {
	if b.Tree.IsZero() {
		return false, false, nil
	}
	entry, err := b.Lookup(name)
	if errors.Is(err, object.ErrPathNotFound) {
		return false, false, nil
	}
	return HasContent(entry, content), true, err
}

// Read returns the content of a plain file at a path from the root of the branch, or nil if there is none.
func (b *Branch) Read(name string) ([]byte, error) {
	if b.Tree.IsZero() {
		return nil, nil
	}
	entry, err := b.Lookup(name)
	if errors.Is(err, object.ErrPathNotFound) || err == nil && !entry.Mode.IsFile() {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = b.reader.Blob(entry.Hash, MaxOutputBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// HasContent reports whether an entry is a plain file with that content.
func HasContent(e object.Entry, content plumbing.Hash) bool {
	return e.Mode == filemode.Regular && e.Hash == content
}

// OwnsRoot looks up a file at the output path, outside of the units, in the inventory.
func (b *Branch) OwnsRoot(name string) (FileEntry, bool) {
	if b.Inventory == nil {
		return FileEntry{}, false
	}
	return findFile(b.Inventory.Root, name)
}

// Newest calls decode with the versions of a file in the tip and its history, newest first, until decode returns true,
// and reports whether it did. The path is from the root of the branch.
func (b *Branch) Newest(name string, decode func([]byte) (bool, error)) (bool, error) {
	age, err := newest(b.reader, &object.Commit{Tree: b.Tree, Parents: b.Parents}, name, decode)
	return age >= 0, err
}
