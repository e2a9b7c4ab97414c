package chart

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/agentry-dev/agentry/inputs/chart/signed"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Scheme is the scheme of OCI registries, as in Helm and Flux.
const Scheme = "oci://"

// Source names what is fetched, most often a chart, and its version.
type Source struct {
	// Kind says what it is.
	Kind Kind `json:"kind,omitempty"`
	// URL is the https or http URL of a repository with an index.yaml, or oci://HOST/PATH of the chart itself. For the
	// other kinds it is that of the Git repository or of the file.
	URL string `json:"url"`
	// Name is the chart's name in the index of an HTTP repository.
	Name string `json:"name,omitempty"`
	// Version is a version, a range of versions such as 6.x, or for a chart in a registry any tag. If empty, it is the
	// highest version that is not a pre-release. For a Git repository it is the ref, as [Repositories] resolve it, and
	// for a file the start of a digest of its URL's query.
	Version string `json:"version,omitempty"`
	// Digest, if not empty, is the digest of the manifest of a chart in a registry; Version is then ignored.
	Digest string `json:"digest,omitempty"`
	// Insecure allows a registry without TLS.
	Insecure bool `json:"insecure,omitempty"`
}

// Access has the connection settings and credentials of a repository.
type Access struct {
	Connection         httpclient.Connection
	Username, Password string
}

// Request is a source with access to it, and the keys that must have signed it.
type Request struct {
	Source
	Access
	// Keys are the keys that may sign the chart. If nil, it need not be signed.
	Keys *signed.Keys
	// Remotes fetch what is in Git.
	Remotes Repositories
	denied  error // why a file may not be fetched
}

// Pin is a version of a chart with the digest of its archive, so it always means the same bytes.
type Pin struct {
	Version string `json:"version"`
	// Digest is sha256:... of the archive. It is empty for a commit, which is the Version.
	Digest string `json:"digest,omitempty"`
}

// Pinned is a source with its pin.
type Pinned struct {
	Source
	Pin Pin `json:"pin"`
}

// isOCI reports whether the chart is in a registry.
func (s Source) isOCI() bool { return strings.HasPrefix(s.URL, Scheme) }

// String names a source in errors, without possible secrets.
func (s Source) String() string {
	at := "an unreadable URL"
	if u, err := url.Parse(s.URL); err == nil {
		at = u.Scheme + "://" + u.Host + u.Path
	}
	switch s.Kind {
	case Git:
		if s.Version == "" {
			return "repository " + at
		}
		return fmt.Sprintf("repository %s at %.100s", at, s.Version)
	case File:
		return "file " + at
	}
	if s.isOCI() {
		return fmt.Sprintf("chart %s", at)
	}
	return fmt.Sprintf("chart %s of %s", s.Name, at)
}

// site parses and checks the URL.
func (s Source) site() (*url.URL, error) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Host == "" || u.Fragment != "":
		return nil, errors.New("the repository's URL is not a URL")
	case u.User != nil:
		return nil, errors.New("the repository's URL holds a user name or password")
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
		return nil, fmt.Errorf("the repository's URL has scheme %s: use https or oci", u.Scheme)
	}
	return u, nil
}
