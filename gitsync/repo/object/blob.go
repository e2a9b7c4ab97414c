package object

import (
	"bytes"
	"compress/zlib"
	"io"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo/store"
)

// Blob is the content of a file as it goes into a pack: compressed, with its hash.
type Blob struct {
	Hash     plumbing.Hash
	size     int
	deflated []byte
}

// NewBlob compresses a content.
func NewBlob(content []byte) Blob {
	return Blob{HashOf(content), len(content), store.Deflate(content)}
}

// HashOf returns the hash of a blob with a content.
func HashOf(content []byte) plumbing.Hash { return plumbing.ComputeHash(plumbing.BlobObject, content) }

// Len returns the bytes of memory that it takes.
func (b Blob) Len() int { return len(b.deflated) }

// Bytes returns the content.
func (b Blob) Bytes() []byte {
	out := bytes.NewBuffer(make([]byte, 0, b.size+bytes.MinRead))
	z, err := zlib.NewReader(bytes.NewReader(b.deflated))
	if err == nil {
		_, err = io.Copy(out, z)
	}
	if err != nil {
		panic("a blob in memory is damaged: " + err.Error()) // cannot happen: NewBlob wrote it
	}
	return out.Bytes()
}
