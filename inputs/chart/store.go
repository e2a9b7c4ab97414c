package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Options are the settings of a [Store].
type Options struct {
	// Folder keeps archives, by digest. It is made when it is needed. Required.
	Folder string
	// Timeout bounds a request with its answer. Default: 2m.
	Timeout time.Duration
	// Fresh is how long an index that was read answers further questions. Default: 1m.
	Fresh time.Duration
}

// Store fetches charts and keeps their archives. It is safe for concurrent use.
type Store struct {
	opts   Options
	pool   httpclient.Pool
	lookup lookup

	mu      sync.Mutex
	indexes map[string]*cachedIndex
}

// NewStore returns a store. It contacts nobody.
func NewStore(opts Options) *Store {
	const timeout, fresh = 2 * time.Minute, time.Minute
	if opts.Timeout == 0 {
		opts.Timeout = timeout
	}
	if opts.Fresh == 0 {
		opts.Fresh = fresh
	}
	return &Store{opts: opts, lookup: net.DefaultResolver.LookupNetIP, indexes: map[string]*cachedIndex{}}
}

// Resolve asks the server which version is meant now.
func (s *Store) Resolve(ctx context.Context, of Source) (Pin, error) {
	resolve := s.resolveHTTP
	if of.isOCI() {
		resolve = s.resolveOCI
	}
	pin, err := resolve(ctx, of)
	if err != nil {
		return Pin{}, named(of, err)
	}
	return pin, nil
}

// Get returns the files of a pinned chart.
func (s *Store) Get(ctx context.Context, of Source, pin Pin) ([]helm.File, error) {
	archive, err := s.archive(ctx, of, pin)
	if err != nil {
		return nil, named(of, err)
	}
	files, err := Unpack(archive)
	if err != nil {
		return nil, named(of, err)
	}
	return files, nil
}

// archive returns the archive from the cache or the server.
func (s *Store) archive(ctx context.Context, of Source, pin Pin) ([]byte, error) {
	if !isDigest(pin.Digest) {
		return nil, fmt.Errorf("the digest %.100q is not sha256: and 64 digits", pin.Digest)
	}
	if archive, err := os.ReadFile(s.file(pin.Digest)); err == nil && digestOf(archive) == pin.Digest {
		return archive, nil
	}
	fetch := s.fetchHTTP
	if of.isOCI() {
		fetch = s.fetchOCI
	}
	archive, err := fetch(ctx, of, pin)
	if err != nil {
		return nil, err
	}
	if got := digestOf(archive); got != pin.Digest {
		return nil, fmt.Errorf("the server gives another archive for version %s than before: %s instead of %s", pin.Version, got, pin.Digest)
	}
	return archive, s.keep(pin.Digest, archive)
}

// keep writes an archive into the cache. Others can do so at the same time: the content is the same.
func (s *Store) keep(digest string, archive []byte) error {
	if err := os.MkdirAll(s.opts.Folder, 0o700); err != nil {
		return fmt.Errorf("keep the chart: %w", err)
	}
	tmp, err := os.CreateTemp(s.opts.Folder, "tmp_")
	if err != nil {
		return fmt.Errorf("keep the chart: %w", err)
	}
	_, err = tmp.Write(archive)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), s.file(digest))
	}
	if err != nil {
		return fmt.Errorf("keep the chart: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

func (s *Store) file(digest string) string {
	return filepath.Join(s.opts.Folder, strings.TrimPrefix(digest, algorithm)+".tgz")
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

// named says which chart an error is about, without its secrets.
func named(of Source, err error) error {
	const maxErrorBytes = 500
	text := httpclient.Redact(err.Error(), of.Password, of.Connection.ProxyPassword)
	if len(text) > maxErrorBytes {
		text = strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
	}
	return &Error{of.String() + ": " + text, err}
}

// Error is why a chart is not there. Its text can be shown.
type Error struct {
	text string
	err  error
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Unwrap returns the cause, so that callers can find its kind.
func (e *Error) Unwrap() error { return e.err }
