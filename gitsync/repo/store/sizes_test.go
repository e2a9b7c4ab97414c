package store

import "testing"

// A delta's sizes are read from any bytes.
func FuzzDeltaStart(f *testing.F) {
	f.Add([]byte{0x80, 0x01, 0x05, 0x00})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d deltaStart
		if n, err := d.Write(raw); n != len(raw) || err != nil {
			t.Errorf("wrote %d of %d: %v", n, len(raw), err)
		}
		_, _ = d.sizes()
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
		if _, got := d.sizes(); got != want {
			t.Errorf("%q: got %d, want %d", raw, got, want)
		}
	}
}
