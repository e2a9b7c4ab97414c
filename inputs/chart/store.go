package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Options are the settings of a [Store].
type Options struct {
	// Folder keeps archives. It is made when it is needed. Required.
	Folder string
	// MaxBytes is how much the folder may keep; what was used least recently goes first. Default: 1 GiB.
	MaxBytes int64
	// Timeout bounds a request with its answer. Default: 2m.
	Timeout time.Duration
	// Fresh is how long an index that was read answers further questions. Default: 1m.
	Fresh time.Duration
}

// Store fetches charts and keeps their archives. It is safe for concurrent use, and processes can share the folder.
type Store struct {
	opts   Options
	pool   httpclient.Pool
	lookup lookup

	reading chan struct{}
	mu      sync.Mutex
	indexes map[string]*cachedIndex
}

// NewStore returns a store. It contacts nobody.
func NewStore(opts Options) *Store {
	const timeout, fresh, size = 2 * time.Minute, time.Minute, 1 << 30
	if opts.Timeout == 0 {
		opts.Timeout = timeout
	}
	if opts.Fresh == 0 {
		opts.Fresh = fresh
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = size
	}
	return &Store{opts: opts, lookup: net.DefaultResolver.LookupNetIP, reading: make(chan struct{}, readers),
		indexes: map[string]*cachedIndex{}}
}

// Resolve asks the server which version is meant now. last is what it was before, if that is known: it stays if the
// server means this version and names no digest.
func (s *Store) Resolve(ctx context.Context, of Request, last Pin) (Pin, error) {
	resolve := s.resolveHTTP
	if of.isOCI() {
		resolve = s.resolveOCI
	}
	pin, err := resolve(ctx, of, last)
	if err != nil {
		return Pin{}, named(of, err)
	}
	return pin, nil
}

// Fetch fetches the archive of a pinned chart, unless it is there. The error of one that is not signed as it must be is
// [ErrUnverified].
func (s *Store) Fetch(ctx context.Context, of Request, pin Pin) error {
	err := s.fill(ctx, of, pin)
	if err == nil {
		err = s.verify(of, pin, func() (signature, error) { return s.fetchSignature(ctx, of, pin) })
	}
	if err != nil {
		return named(of, err)
	}
	return nil
}

// fill fetches an archive into the cache, unless it is there.
func (s *Store) fill(ctx context.Context, of Request, pin Pin) error {
	if !isDigest(pin.Digest) {
		return fmt.Errorf("the digest %.100q is not sha256: and 64 digits", pin.Digest)
	}
	if _, found := s.kept(of, pin); found {
		return nil
	}
	fetch := s.fetchHTTP
	if of.isOCI() {
		fetch = s.fetchOCI
	}
	archive, err := fetch(ctx, of, pin)
	if err != nil {
		return err
	}
	if got := digestOf(archive); got != pin.Digest {
		return fmt.Errorf("the server gives another archive for version %s than before: %s instead of %s", pin.Version,
			got, pin.Digest)
	}
	return s.keep(of, pin, archive)
}

const algorithm = "sha256:"

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return algorithm + hex.EncodeToString(sum[:])
}

func isDigest(text string) bool {
	digits, found := strings.CutPrefix(text, algorithm)
	_, err := hex.DecodeString(digits)
	return found && err == nil && len(digits) == sha256.Size*2 && strings.ToLower(digits) == digits
}

// named adds to an error the chart that it is about, without secrets.
func named(of Request, err error) *Error {
	const maxErrorBytes = 500
	text := httpclient.Redact(err.Error(), of.Password, of.Connection.ProxyPassword)
	if len(text) > maxErrorBytes {
		text = strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
	}
	return &Error{of.String(), text, err}
}

// Error is why a chart is not there. Its text can be shown.
type Error struct {
	chart, reason string
	err           error
}

// Error implements error.
func (e *Error) Error() string { return e.chart + ": " + e.reason }

// Unwrap returns the cause, so that callers can find its kind.
func (e *Error) Unwrap() error { return e.err }
