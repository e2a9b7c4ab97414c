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

// Source says where a chart is and which version is meant.
type Source struct {
	// URL is that of a repository with an index.yaml, https or http; or oci://HOST/PATH of the chart itself.
	URL string `json:"url"`
	// Name is the chart's name in the index of an HTTP repository.
	Name string `json:"name,omitempty"`
	// Version is a version, or a range of versions such as 6.x. Empty: the highest that is no pre-release. For a chart
	// in a registry it can be any tag too.
	Version string `json:"version,omitempty"`
	// Digest, if it is not empty, is that of the manifest of a chart in a registry; Version is not looked at then.
	Digest string `json:"digest,omitempty"`
	// Insecure allows a registry without TLS.
	Insecure bool `json:"insecure,omitempty"`
}

// Access says how a repository is reached.
type Access struct {
	Connection         httpclient.Connection
	Username, Password string
}

// Request is a source, how it is reached, and who must have signed it.
type Request struct {
	Source
	Access
	// Keys are those that may sign the chart. Nil: it need not be signed.
	Keys *signed.Keys
}

// Pin is a version of a chart and the digest of its archive: the same bytes for ever.
type Pin struct {
	Version string `json:"version"`
	// Digest is sha256:... of the archive.
	Digest string `json:"digest"`
}

// Pinned is a source with the pin that was found for it.
type Pinned struct {
	Source
	Pin Pin `json:"pin"`
}

// isOCI reports whether the chart is in a registry.
func (s Source) isOCI() bool { return strings.HasPrefix(s.URL, Scheme) }

// String names a source in errors, without what could be secret.
func (s Source) String() string {
	at := "an unreadable URL"
	if u, err := url.Parse(s.URL); err == nil {
		at = u.Scheme + "://" + u.Host + u.Path
	}
	if s.isOCI() {
		return fmt.Sprintf("chart %s", at)
	}
	return fmt.Sprintf("chart %s of %s", s.Name, at)
}

// site checks the URL.
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
