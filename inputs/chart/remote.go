package chart

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/agentry-dev/agentry/inputs/tree"
)

// Kind says what is fetched.
type Kind string

const (
	// Helm is a chart. It is the zero value.
	Helm Kind = ""
	// Git is a commit of a Git repository that a kustomization names as a base.
	Git Kind = "git"
	// File is a file at an http or https URL that a kustomization names as a resource.
	File Kind = "file"
)

// Repositories are the Git repositories and files that kustomizations may name although they are on another server.
// Implementations are safe for concurrent use.
type Repositories interface {
	// Address returns the URL from which a remote entry is fetched, or false if nobody allows to.
	Address(url string) (at string, isAllowed bool)
	// Access returns how a file at an address is reached. It is an error if the commits of the repository must be
	// signed: files are not.
	Access(address string) (Access, error)
	// Resolve fetches what a ref names: a branch, a tag, the full name of a ref, a commit or, if it is empty, the
	// default branch. It returns the id of the commit. If there is none, that is a [*NoRefError].
	Resolve(ctx context.Context, address, ref string) (commit string, err error)
	// Fetch fetches a commit, unless it is there.
	Fetch(ctx context.Context, address, commit string) error
	// Has reports whether a commit is there.
	Has(address, commit string) bool
	// Open opens the files of a commit that is there. The returned function closes them.
	Open(address, commit string) (tree.Files, func(), error)
}

// NoRefError says that a repository does not have the ref that a remote entry names.
type NoRefError struct{ Err error }

// Error implements error.
func (e *NoRefError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NoRefError) Unwrap() error { return e.Err }

// Remote returns the source of a remote entry, or false if it may not be fetched.
func (r *Renderer) Remote(kind Kind, url, ref string) (Source, bool) {
	if r == nil || r.Charts.versions == nil || r.Charts.versions.opts.Remotes == nil {
		return Source{}, false
	}
	at, isAllowed := r.Charts.versions.opts.Remotes.Address(url)
	if _, query, has := strings.Cut(at, "?"); has {
		const shown = len(algorithm) + 8
		ref = digestOf([]byte(query))[:shown] // two files can differ in the query only
	}
	return Source{URL: at, Version: ref, Kind: kind}, isAllowed
}

// Open opens the files of a commit of a Git repository, or of the folder with only a file. The returned function closes
// them. The error is an [*Error].
func (r *Renderer) Open(of Source, pin Pin) (tree.Files, func(), error) {
	if of.Kind == File {
		as, _, _ := r.Charts.pinOf(of)
		text, found := r.Charts.versions.store.cached(as, pin)
		if !found {
			return nil, nil, newError(as, errors.New("it is not in the cache"))
		}
		return tree.OneFile(path.Base(of.public().URL), text), func() {}, nil
	}
	files, done, err := r.Charts.versions.opts.Remotes.Open(of.URL, pin.Version)
	if err != nil {
		return nil, nil, newError(Request{Source: of}, err)
	}
	return files, done, nil
}

// Pin returns the pin of what a remote entry names, and records that the build uses it. The error is an [*Error].
func (r *Renderer) Pin(of Source) (Pin, error) {
	as, pin, missing := r.Charts.pinOf(of)
	use := Use{Pin: pin}
	if missing != nil {
		use = Use{Missing: missing.Error()}
	}
	if r.uses != nil {
		r.uses[of] = use
	}
	if missing != nil {
		return Pin{}, missing
	}
	r.Charts.remember(as, pin)
	return pin, nil
}

// isValid reports whether agentry can have written a pin.
func (p Pinned) isValid() bool {
	if p.Kind == Git {
		return p.Pin.Digest == "" && isCommit(p.Pin.Version)
	}
	return isDigest(p.Pin.Digest)
}

// revision is the word for one state of what is fetched.
func (k Kind) revision() string {
	switch k {
	case Git:
		return "commit"
	case File:
		return "content"
	}
	return "version"
}

// Words names the pinned state in messages, such as version 1.2.0 or commit 0123456.
func (p Pinned) Words() string {
	version := p.Pin.Version
	if p.Kind == Git {
		const short = 7
		version = version[:min(len(version), short)]
	}
	return p.Kind.revision() + " " + version
}

// isCommit reports whether a text is the full id of a commit.
func isCommit(text string) bool {
	const digits = 40
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == digits && strings.ToLower(text) == text
}

// resolveFile downloads a file into the cache. Its version is the start of its digest.
func (s *Store) resolveFile(ctx context.Context, of Request) (Pin, error) {
	text, err := s.downloadFile(ctx, of)
	if err != nil {
		return Pin{}, err
	}
	const prefix = len(algorithm) + 12
	pin := Pin{Digest: digestOf(text)}
	pin.Version = pin.Digest[:prefix]
	return pin, s.cache(of, pin, text)
}

func (s *Store) downloadFile(ctx context.Context, of Request) ([]byte, error) {
	if of.denied != nil {
		return nil, of.denied
	}
	client, err := s.client(ctx, of, MaxArchiveBytes)
	if err != nil {
		return nil, err
	}
	text, err := download(ctx, client, of.URL)
	if err != nil {
		return nil, fmt.Errorf("fetch the file: %w", err)
	}
	return text, nil
}
