package store

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// checkSizes reads a pack before it is indexed, because the indexer unpacks each object into memory and a small
// pack can unpack to any size. An object of more than maxBytes is limit.ErrTooLarge.
func checkSizes(in io.Reader, maxBytes int64) error {
	scanner := packfile.NewScanner(in)
	_, count, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadPack, err)
	}
	for range count {
		h, err := scanner.NextObjectHeader()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBadPack, err)
		}
		size := h.Length
		if size <= maxBytes {
			// The scanner refuses objects that exceed their declared size.
			var start deltaStart
			if _, _, err := scanner.NextObject(&start); err != nil {
				return fmt.Errorf("%w: %w", ErrBadPack, err)
			}
			if h.Type.IsDelta() {
				size = start.targetSize()
			}
		}
		if size < 0 || size > maxBytes {
			return fmt.Errorf("%w: an object of the pack has %d bytes, at most %d are allowed", limit.ErrTooLarge, size, maxBytes)
		}
	}
	return nil
}

// deltaStart keeps the first bytes that are written to it: a delta starts with the sizes of its base and of its result.
type deltaStart struct {
	buf [2 * binary.MaxVarintLen64]byte
	n   int
}

func (d *deltaStart) Write(p []byte) (int, error) {
	d.n += copy(d.buf[d.n:], p)
	return len(p), nil
}

// targetSize returns the size of the result, or -1 if the delta is malformed.
func (d *deltaStart) targetSize() int64 {
	_, n := binary.Uvarint(d.buf[:d.n])
	if n <= 0 {
		return -1
	}
	size, n := binary.Uvarint(d.buf[n:d.n])
	if n <= 0 {
		return -1
	}
	return int64(size) // negative if absurd
}
