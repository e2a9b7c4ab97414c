// Package limit bounds reads from a remote and from the cache.
package limit

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge means that a limit is exceeded: the size of a pack, file or response, or the number or depth of files.
var ErrTooLarge = errors.New("over the size limit")

// Reader is like [io.LimitReader], but reading more than maxBytes returns ErrTooLarge with the text what.
func Reader(in io.Reader, maxBytes int64, what string) io.Reader {
	return &reader{in: in, left: maxBytes, what: what}
}

type reader struct {
	in   io.Reader
	left int64
	what string
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, fmt.Errorf("%w: %s", ErrTooLarge, r.what)
	}
	return n, err
}
