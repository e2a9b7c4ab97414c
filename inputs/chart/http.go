package chart

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// maxIndexBytes limits an index: the largest public ones have 30 MiB.
const maxIndexBytes = 64 << 20

// cachedIndex is an index with the time at which it was read. Its lock is held while it is read, so that other
// repositories need not wait.
type cachedIndex struct {
	mu sync.Mutex
	*index
	at time.Time
}

// readers limits the indexes that are read at once.
const readers = 4

func (s *Store) resolveHTTP(ctx context.Context, of Request, last Pin) (Pin, error) {
	e, err := s.find(ctx, of, of.Version)
	if err != nil {
		return Pin{}, err
	}
	digest := e.Digest
	if digest != "" && !strings.HasPrefix(digest, algorithm) {
		digest = algorithm + digest // as Helm writes it
	}
	if digest != "" && !isDigest(digest) {
		return Pin{}, fmt.Errorf("the index has a digest of version %s that is not sha256: and 64 digits", e.Version)
	}
	// The archive shows whether the index tells the truth, and its digest if the index has none.
	pin := Pin{Version: e.Version, Digest: digest}
	if digest != "" {
		return pin, s.fill(ctx, of, pin)
	}
	if e.Version == last.Version {
		return last, nil // nothing says that the archive has changed
	}
	archive, err := s.fetchEntry(ctx, of, e)
	if err != nil {
		return Pin{}, err
	}
	pin.Digest = digestOf(archive)
	return pin, s.keep(of, pin, archive)
}

func (s *Store) fetchHTTP(ctx context.Context, of Request, pin Pin) ([]byte, error) {
	e, err := s.find(ctx, of, pin.Version)
	if err != nil {
		return nil, err
	}
	return s.fetchEntry(ctx, of, e)
}

func (s *Store) fetchEntry(ctx context.Context, of Request, e entry) ([]byte, error) {
	client, err := s.client(ctx, of, MaxArchiveBytes)
	if err != nil {
		return nil, err
	}
	from, err := e.address(of)
	if err != nil {
		return nil, err
	}
	archive, err := download(ctx, client, from.String())
	if err != nil {
		return nil, fmt.Errorf("fetch version %s: %w", e.Version, err)
	}
	return archive, nil
}

// address is where the archive of a version is.
func (e entry) address(of Request) (*url.URL, error) {
	if len(e.URLs) == 0 {
		return nil, fmt.Errorf("the index names no address of version %s", e.Version)
	}
	return against(of.URL, e.URLs[0])
}

// find finds a version in the index of a repository.
func (s *Store) find(ctx context.Context, of Request, version string) (entry, error) {
	client, err := s.client(ctx, of, maxIndexBytes)
	if err != nil {
		return entry{}, err
	}
	kept := s.indexOf(of)
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.index != nil && time.Since(kept.at) <= s.opts.Fresh {
		if e, err := kept.find(of.Name, version); err == nil {
			return e, nil // else it may be newer than the index
		}
	}
	s.reading <- struct{}{} // indexes are large
	x, err := readIndex(ctx, of, client)
	<-s.reading
	if err != nil {
		return entry{}, err
	}
	kept.index, kept.at = x, time.Now()
	return x.find(of.Name, version)
}

// indexOf returns the place of a repository's index, and drops indexes that are old.
func (s *Store) indexOf(of Request) *cachedIndex {
	key := digestOf([]byte(strings.Join([]string{of.URL, of.Username, of.Password, string(of.Connection.CAPEM),
		of.Connection.ProxyURL}, "\n")))
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, kept := range s.indexes {
		if kept.mu.TryLock() {
			if time.Since(kept.at) > s.opts.Fresh {
				delete(s.indexes, k)
			}
			kept.mu.Unlock()
		}
	}
	if s.indexes[key] == nil {
		s.indexes[key] = &cachedIndex{at: time.Now()}
	}
	return s.indexes[key]
}

func readIndex(ctx context.Context, of Request, client *http.Client) (*index, error) {
	from, err := against(of.URL, "index.yaml")
	if err != nil {
		return nil, err
	}
	text, err := download(ctx, client, from.String())
	if err != nil {
		return nil, fmt.Errorf("read the repository's index: %w", err)
	}
	return parseIndex(text)
}

// against returns the URL for an address in an index, which can be relative to the repository.
func against(repository, address string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSuffix(repository, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("the repository's URL is not a URL")
	}
	query := base.RawQuery
	ref, err := base.Parse(address)
	if err != nil || ref.Scheme != "http" && ref.Scheme != "https" || ref.User != nil {
		return nil, fmt.Errorf("the index gives an address that is no plain URL of http or https")
	}
	if ref.RawQuery == "" && ref.Host == base.Host {
		ref.RawQuery = query
	}
	return ref, nil
}
