package object_test

import (
	"bytes"
	"testing"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

func TestABlobHasItsContent(t *testing.T) {
	t.Parallel()
	for _, content := range [][]byte{nil, {}, []byte("a\n"), bytes.Repeat([]byte("0123456789"), 100_000)} {
		b := object.NewBlob(content)
		if got := b.Bytes(); !bytes.Equal(got, content) || b.Hash != object.HashOf(content) {
			t.Errorf("%d bytes come back as %d, with hash %s", len(content), len(got), b.Hash)
		}
		if edit := (object.Edit{Blob: &b}); edit.Hash() != (object.Edit{Data: content}).Hash() {
			t.Errorf("%d bytes: the hashes of edits differ", len(content))
		}
	}
}
