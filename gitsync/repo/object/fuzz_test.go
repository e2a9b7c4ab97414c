package object

import (
	"bytes"
	"testing"
)

// Any bytes that a remote sends as a tree are read as git would write them, or refused.
func FuzzDecodeTree(f *testing.F) {
	f.Add([]byte("100644 a\x0001234567890123456789"))
	f.Add([]byte("40000 d\x0001234567890123456789100755 x\x0001234567890123456789"))
	f.Add([]byte("100644 ../a\x0001234567890123456789"))
	f.Add([]byte("100644 a\x00short"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := DecodeTree(raw)
		if err != nil {
			return
		}
		for _, e := range entries {
			if !isName(e.Name) {
				t.Errorf("name %q was taken", e.Name)
			}
		}
		first := encodeTree(entries)
		again, err := DecodeTree(first)
		if err != nil {
			t.Fatalf("our own tree is refused: %v", err)
		}
		if second := encodeTree(again); !bytes.Equal(first, second) {
			t.Errorf("written twice: %q, %q", first, second)
		}
	})
}
