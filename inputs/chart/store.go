package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Options configure a [Store].
type Options struct {
	// Folder is the cache folder. It is created when needed. Required.
	Folder string
	// MaxBytes limits the size of the cache; the least recently used files are removed first. Default: 1 GiB.
	MaxBytes int64
	// Timeout limits a request including its response. Default: 2m.
	Timeout time.Duration
	// Fresh is how long an index is cached. Default: 1m.
	Fresh time.Duration
}

// Store fetches charts and caches their archives. It is safe for concurrent use, and processes can share the folder.
type Store struct {
	opts   Options
	pool   httpclient.Pool
	lookup lookup

	reading chan struct{}
	mu      sync.Mutex
	indexes map[string]*cachedIndex
}

// NewStore returns a store, without accessing the network.
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

// Resolve asks the server for the current version of a chart. last is the previous result, if known: it is returned if
// the version is the same and the server provides no digest.
func (s *Store) Resolve(ctx context.Context, of Request, last Pin) (Pin, error) {
	switch of.Kind {
	case Git:
		commit, err := of.Remotes.Resolve(ctx, of.URL, of.Version)
		if err != nil {
			return Pin{}, newError(of, err)
		}
		return Pin{Version: commit}, nil
	case File:
		pin, err := s.resolveFile(ctx, of)
		if err != nil {
			return Pin{}, newError(of, err)
		}
		return pin, nil
	}
	resolve := s.resolveHTTP
	if of.isOCI() {
		resolve = s.resolveOCI
	}
	pin, err := resolve(ctx, of, last)
	if err != nil {
		return Pin{}, newError(of, s.late(err))
	}
	return pin, nil
}

// Fetch fetches the archive of a pinned chart into the cache, unless it is there. The error wraps [ErrUnverified] if a
// required signature is missing or invalid.
func (s *Store) Fetch(ctx context.Context, of Request, pin Pin) error {
	if of.Kind == Git {
		if err := of.Remotes.Fetch(ctx, of.URL, pin.Version); err != nil {
			return newError(of, err)
		}
		return nil
	}
	err := s.fetchArchive(ctx, of, pin)
	if err == nil {
		err = s.verify(of, pin, func() (signature, error) { return s.fetchSignature(ctx, of, pin) })
	}
	if err != nil {
		return newError(of, s.late(err))
	}
	return nil
}

// late names the limit of a request that took too long.
func (s *Store) late(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the server takes longer than %s", s.opts.Timeout)
	}
	return err
}

// fetchArchive fetches an archive into the cache, unless it is there.
func (s *Store) fetchArchive(ctx context.Context, of Request, pin Pin) error {
	if !isDigest(pin.Digest) {
		return fmt.Errorf("the digest %.100q is not sha256: followed by 64 digits", pin.Digest)
	}
	if _, found := s.cached(of, pin); found {
		return nil
	}
	fetch := s.fetchHTTP
	switch {
	case of.isOCI():
		fetch = s.fetchOCI
	case of.Kind == File:
		fetch = func(ctx context.Context, of Request, _ Pin) ([]byte, error) { return s.downloadFile(ctx, of) }
	}
	archive, err := fetch(ctx, of, pin)
	if err != nil {
		return err
	}
	got := digestOf(archive)
	if got != pin.Digest && of.Kind == File {
		return fmt.Errorf("the file has changed: %s instead of %s", got, pin.Digest)
	}
	if got != pin.Digest {
		return fmt.Errorf("the server now has a different archive for version %s: %s instead of %s", pin.Version,
			got, pin.Digest)
	}
	return s.cache(of, pin, archive)
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

// newError returns an error about a chart, without secrets.
func newError(of Request, err error) *Error {
	const maxErrorBytes = 500
	text := httpclient.Redact(err.Error(), of.Password, of.Connection.ProxyPassword)
	if errors.Is(err, httpclient.ErrNotPublic) {
		text = "its address is not public"
	}
	if len(text) > maxErrorBytes {
		text = strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
	}
	return &Error{of.Source, text, err}
}

// Error says why a chart is not available. Its text contains no secrets.
type Error struct {
	of     Source
	reason string
	err    error
}

// Error implements error.
func (e *Error) Error() string { return e.of.String() + ": " + e.reason }

// Cause returns what this error has in common with those of other charts.
func (e *Error) Cause() diag.Cause {
	out := diag.Cause{Things: "charts", Problem: "cannot be fetched", Many: "hosts", Reason: e.reason}
	field := "charts.repositories"
	switch e.of.Kind {
	case Git:
		out.Things, field = "remote bases", "build.remotes"
	case File:
		out.Things, field = "remote files", "build.remotes"
	}
	out.Hint = "check the URL, the network and the credentials in " + field + " of the pipeline"
	switch _, isMissing := errors.AsType[*NoRefError](e.err); {
	case errors.Is(e.err, errNotCached):
		out.Problem = "are not in the cache"
		out.Hint = "run the same command once without --offline: what it fetches stays in the cache"
	case isMissing:
		out.Hint = "write ?ref= with a branch or tag that the repository has, or with the full id of a commit"
	case errors.Is(e.err, httpclient.ErrNotPublic):
		out.Hint = "list its URL in " + field + " of the pipeline"
		out.Flags = "--set spec." + field + "[0].url=URL allows it, with -f FILE if a pipeline file governs"
	default:
		out.Flags = "check the URL and the network; --set spec." + field + "[0].url=URL and .auth give credentials"
	}
	if u, err := url.Parse(e.of.URL); err == nil {
		out.Of = u.Host
	}
	return out
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }
