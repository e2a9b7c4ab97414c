package checkout

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// File is a text as the only file of a commit.
type File struct {
	name   string
	text   []byte
	blob   plumbing.Hash
	commit *object.Commit
}

// NewFile returns a commit with one file.
func NewFile(name string, text []byte) *File {
	f := &File{name: name, text: text, blob: plumbing.ComputeHash(plumbing.BlobObject, text)}
	f.commit = commitOf(id("tree", name, f.blob.String()), "the file "+name)
	return f
}

// ID returns the id of the commit.
func (f *File) ID() plumbing.Hash { return f.commit.Hash }

// Has implements [object.Objects].
func (f *File) Has(h plumbing.Hash) bool {
	return h == f.blob || h == f.commit.Tree || h == f.commit.Hash
}

// Commit implements [object.Objects].
func (f *File) Commit(plumbing.Hash) (*object.Commit, error) { return f.commit, nil }

// Tree implements [object.Objects].
func (f *File) Tree(plumbing.Hash) ([]object.Entry, error) {
	return []object.Entry{{Name: f.name, Mode: filemode.Regular, Hash: f.blob}}, nil
}

// BlobSize implements [object.Objects].
func (f *File) BlobSize(plumbing.Hash) (int64, error) { return int64(len(f.text)), nil }

// Blob implements [object.Objects].
func (f *File) Blob(_ plumbing.Hash, maxBytes int64) ([]byte, error) {
	if maxBytes > 0 && int64(len(f.text)) > maxBytes {
		return nil, fmt.Errorf("%s: %w: at most %d bytes are allowed", f.name, limit.ErrTooLarge, maxBytes)
	}
	return f.text, nil
}

// Text returns the text of a file, or nil.
func (f *File) Text(name string) []byte {
	if name != f.name {
		return nil
	}
	return f.text
}
