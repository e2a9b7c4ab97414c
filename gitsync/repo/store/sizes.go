package store

import "encoding/binary"

// deltaStart keeps the first bytes written to it: a delta starts with the sizes of its base and result.
type deltaStart struct {
	buf [2 * binary.MaxVarintLen64]byte
	n   int
}

func (d *deltaStart) Write(p []byte) (int, error) {
	d.n += copy(d.buf[d.n:], p)
	return len(p), nil
}

// sizes returns the sizes of the base and the result, or -1 if the delta is malformed.
func (d *deltaStart) sizes() (base, result int64) {
	base, result, n := d.parse()
	if n == 0 {
		return -1, -1
	}
	return base, result
}

// parse returns the sizes and the length of their encoding, which is 0 if malformed. A size above 8 EiB is negative.
func (d *deltaStart) parse() (base, result int64, bytes int) {
	first, n := binary.Uvarint(d.buf[:d.n])
	if n <= 0 {
		return 0, 0, 0
	}
	second, m := binary.Uvarint(d.buf[n:d.n])
	if m <= 0 {
		return 0, 0, 0
	}
	return int64(first), int64(second), n + m
}
