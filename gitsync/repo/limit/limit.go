// Package limit limits what is read from a remote or from the cache.
package limit

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge means that something exceeds a limit: the size of a pack, a file or a response, or the number or
// depth of files.
var ErrTooLarge = errors.New("over the size limit")

// Reader is [io.LimitReader] with an error: reading more than maxBytes is ErrTooLarge, with what as its text.
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
