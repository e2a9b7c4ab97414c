package object

import "github.com/go-git/go-git/v5/plumbing"

// Objects are objects that no pack has: the files of a working tree, or the objects of a repository on this machine.
// Many goroutines can use them. Of an object that [Objects.Has] does not know, the other methods need not return an
// error.
type Objects interface {
	// Has reports whether an object is here.
	Has(h plumbing.Hash) bool
	// Commit returns a commit.
	Commit(h plumbing.Hash) (*Commit, error)
	// Tree returns the entries of a directory in Git's order.
	Tree(h plumbing.Hash) ([]Entry, error)
	// BlobSize returns the size of a file.
	BlobSize(h plumbing.Hash) (int64, error)
	// Blob returns the content of a file. If that has more than maxBytes, the error is [limit.ErrTooLarge]; zero means
	// no limit.
	Blob(h plumbing.Hash, maxBytes int64) ([]byte, error)
}

// Add adds objects that no pack has. Readers that are open do not see them.
func (d *Database) Add(o Objects) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.added = append(d.added, o)
}

// HasAdded reports whether objects that were added have the one with that hash.
func (d *Database) HasAdded(h plumbing.Hash) bool {
	d.mu.Lock()
	added := d.added
	d.mu.Unlock()
	return objectsWith(added, h) != nil
}

// objectsWith returns those that have an object, or nil.
func objectsWith(all []Objects, h plumbing.Hash) Objects {
	for _, o := range all {
		if o.Has(h) {
			return o
		}
	}
	return nil
}
