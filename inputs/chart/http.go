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

// maxIndexBytes limits the size of an index; the largest public ones have 30 MiB.
const maxIndexBytes = 64 << 20

// cachedIndex is an index with the time of reading it. Its own lock is held during reading, so that other repositories
// need not wait.
type cachedIndex struct {
	mu sync.Mutex
	*index
	at time.Time
}

// readers limits the indexes that are read at the same time.
const readers = 4

func (s *Store) resolveHTTP(ctx context.Context, of Request, last Pin) (Pin, error) {
	e, err := s.find(ctx, of, of.Version)
	if err != nil {
		return Pin{}, err
	}
	digest := e.Digest
	if digest != "" && !strings.HasPrefix(digest, algorithm) {
		digest = algorithm + digest // Helm writes only the digits
	}
	if digest != "" && !isDigest(digest) {
		return Pin{}, fmt.Errorf("the index has a digest of version %s that is not sha256: followed by 64 digits",
			e.Version)
	}
	// Fetch the archive to check the index's digest, or to compute it if the index has none.
	pin := Pin{Version: e.Version, Digest: digest}
	if digest != "" {
		return pin, s.fetchArchive(ctx, of, pin)
	}
	if e.Version == last.Version {
		return last, nil // without a digest, assume that the archive is the same
	}
	archive, err := s.fetchEntry(ctx, of, e)
	if err != nil {
		return Pin{}, err
	}
	pin.Digest = digestOf(archive)
	return pin, s.cache(of, pin, archive)
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

// address returns the URL of a version's archive.
func (e entry) address(of Request) (*url.URL, error) {
	if len(e.URLs) == 0 {
		return nil, fmt.Errorf("the index has no URL for version %s", e.Version)
	}
	return resolveURL(of.URL, e.URLs[0])
}

// find finds a version of a chart in the index of its repository.
func (s *Store) find(ctx context.Context, of Request, version string) (entry, error) {
	client, err := s.client(ctx, of, maxIndexBytes)
	if err != nil {
		return entry{}, err
	}
	cached := s.indexOf(of)
	cached.mu.Lock()
	defer cached.mu.Unlock()
	if cached.index != nil && time.Since(cached.at) <= s.opts.Fresh {
		if e, err := cached.find(of.Name, version); err == nil {
			return e, nil // else the version may be newer than the index
		}
	}
	s.reading <- struct{}{} // indexes are large
	x, err := readIndex(ctx, of, client)
	<-s.reading
	if err != nil {
		return entry{}, err
	}
	cached.index, cached.at = x, time.Now()
	return x.find(of.Name, version)
}

// indexOf returns the cached index of a repository, and drops old indexes.
func (s *Store) indexOf(of Request) *cachedIndex {
	key := digestOf([]byte(strings.Join([]string{of.URL, of.Username, of.Password, string(of.Connection.CAPEM),
		of.Connection.ProxyURL}, "\n")))
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, cached := range s.indexes {
		if cached.mu.TryLock() {
			if time.Since(cached.at) > s.opts.Fresh {
				delete(s.indexes, k)
			}
			cached.mu.Unlock()
		}
	}
	if s.indexes[key] == nil {
		s.indexes[key] = &cachedIndex{at: time.Now()}
	}
	return s.indexes[key]
}

func readIndex(ctx context.Context, of Request, client *http.Client) (*index, error) {
	from, err := resolveURL(of.URL, "index.yaml")
	if err != nil {
		return nil, err
	}
	text, err := download(ctx, client, from.String())
	if err != nil {
		return nil, fmt.Errorf("read the repository's index: %w", err)
	}
	return parseIndex(text)
}

// resolveURL returns the URL of an address in an index, which can be relative to the repository.
func resolveURL(repository, address string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSuffix(repository, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("the repository's URL is not a URL")
	}
	query := base.RawQuery
	ref, err := base.Parse(address)
	if err != nil || ref.Scheme != "http" && ref.Scheme != "https" || ref.User != nil {
		return nil, fmt.Errorf("the index has an address that is not a plain http or https URL")
	}
	if ref.RawQuery == "" && ref.Host == base.Host {
		ref.RawQuery = query
	}
	return ref, nil
}
