package repo

import (
	"bytes"
	"strings"
	"testing"
)

// What a remote sends as a tree is read as git would write it, or refused.
func FuzzDecodeTree(f *testing.F) {
	f.Add([]byte("100644 a\x0001234567890123456789"))
	f.Add([]byte("40000 d\x0001234567890123456789100755 x\x0001234567890123456789"))
	f.Add([]byte("100644 ../a\x0001234567890123456789"))
	f.Add([]byte("100644 a\x00short"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := decodeTree(raw)
		if err != nil {
			return
		}
		for _, e := range entries {
			if !isName(e.Name) {
				t.Errorf("name %q was taken", e.Name)
			}
		}
		first := encodeTree(entries)
		again, err := decodeTree(first)
		if err != nil {
			t.Fatalf("our own tree is refused: %v", err)
		}
		if second := encodeTree(again); !bytes.Equal(first, second) {
			t.Errorf("written twice: %q, %q", first, second)
		}
	})
}

// No URL makes a panic, and none that is taken shows a password.
func FuzzNormaliseURL(f *testing.F) {
	for _, s := range []string{
		"https://bot:s3cret@h/a", "git@h:a/b.git", "ssh://h:22/a", "/a/b", "file:///a", "bot:s3cret@h:/a", "[::1]:a", "//u:s3cret@h/a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := NormaliseURL(raw)
		if err != nil {
			return
		}
		again, err := NormaliseURL(got)
		if err == nil && again != got && !strings.HasPrefix(got, "file:") {
			t.Errorf("%q is normalised to %q and then to %q", raw, got, again)
		}
	})
}

// A delta's sizes are read from any bytes.
func FuzzDeltaStart(f *testing.F) {
	f.Add([]byte{0x80, 0x01, 0x05, 0x00})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d deltaStart
		if n, err := d.Write(raw); n != len(raw) || err != nil {
			t.Errorf("wrote %d of %d: %v", n, len(raw), err)
		}
		_ = d.targetSize()
	})
}

func TestDeltaStart(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int64{
		"\x05\x07rest":     7,
		"\x80\x01\x80\x02": 256,
		"\x05":             -1,
		"":                 -1,
		"\x80":             -1,
		"\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": -1, // above any length
	} {
		var d deltaStart
		for i := range raw { // in pieces
			_, _ = d.Write([]byte(raw[i : i+1]))
		}
		if got := d.targetSize(); got != want {
			t.Errorf("%q: got %d, want %d", raw, got, want)
		}
	}
}

func TestRemoteText(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"a\r\n\tb  c":               "a b c",
		"token s3cret is bad":       "token *** is bad",
		"\x1b[31mred\x07":           "[31mred",
		"bad \xff byte":             "bad ? byte",
		strings.Repeat("x", 10_000): strings.Repeat("x", maxRemoteText) + " ...",
	} {
		if got := remoteText(raw, []string{"s3cret"}); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}
