// Package checkout reads what is on this machine as Git objects, so that a pass can read it in place of a remote
// repository: the files of a folder as they are now ([Folder]), texts in memory such as standard input ([Files]), and
// the commits of the Git repository that the folder belongs to ([Repository]). It changes nothing in them.
package checkout

import (
	"crypto/sha1" //nolint:gosec // Git's
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// id returns an id that no object of Git has by accident, for a thing that is described by words.
func id(words ...string) (h plumbing.Hash) {
	sum := sha1.New()
	for _, word := range words {
		sum.Write([]byte(strconv.Quote(word)))
	}
	copy(h[:], sum.Sum(nil))
	return h
}

// commitOf returns a commit that nobody made, of a tree.
func commitOf(tree plumbing.Hash, about string) *object.Commit {
	return &object.Commit{Hash: id("commit", tree.String()), Tree: tree, Message: about, IsDraft: true}
}

// Reader returns a reader of objects on this machine. The caller must close it.
func Reader(o object.Objects) *object.Reader {
	db := object.NewDatabase(0)
	db.Add(o)
	return db.Reader()
}
