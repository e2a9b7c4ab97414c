package transport

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// scpLike matches Git's short form of ssh URLs: [user@]host:path, with no slash before the colon.
var scpLike = lazyregexp.New(`^(?:([^@/:]+)@)?(\[[0-9a-fA-F:.]+\]|[^@/:\[\]]+):([^:].*)$`)

// Address is the parsed URL of a remote.
type Address struct {
	scheme string // file, http, https or ssh
	user   string // from the URL; never part of an error
	host   string // in lower case, IPv6 without brackets; empty for file
	port   string // empty for the scheme's default
	path   string // as sent to the remote
}

// NormaliseURL returns a form of a remote's URL that is the same for all spellings: ssh URLs for Git's short form, file
// URLs for paths, scheme and host in lower case, no default port, no user name, no trailing slash and, except for
// files, no ".git". It does not access the disk. Errors contain no secret.
func NormaliseURL(raw string) (string, error) {
	a, err := parseURL(raw)
	if err != nil {
		return "", err
	}
	return a.String(), nil
}

// String returns the normalised URL: see [NormaliseURL].
func (a Address) String() string {
	p := path.Clean("/" + a.path)
	for a.scheme != "file" && strings.HasSuffix(p, ".git") {
		p = path.Clean(strings.TrimSuffix(p, ".git"))
	}
	u := url.URL{Scheme: a.scheme, Host: a.hostPort(), Path: p}
	return u.String()
}

// hostPort returns the host of a URL, with the port unless it is the default.
func (a Address) hostPort() string {
	if a.port != "" {
		return net.JoinHostPort(a.host, a.port)
	}
	if strings.Contains(a.host, ":") {
		return "[" + a.host + "]"
	}
	return a.host
}

// parseURL parses a remote's URL. Errors contain no secret.
func parseURL(raw string) (Address, error) {
	switch {
	case raw == "":
		return Address{}, errors.New("git URL is empty")
	case strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Address{}, errors.New("git URL contains control characters")
	case strings.Contains(raw, "://"):
		return parseFullURL(raw)
	}
	m := scpLike.FindStringSubmatch(raw)
	if m != nil && m[1] == "" && strings.Contains(m[3], "@") {
		return Address{}, errors.New("git URL looks like user:password@host: put credentials into auth instead")
	}
	if m != nil {
		host := strings.ToLower(strings.Trim(m[2], "[]"))
		return Address{scheme: "ssh", user: m[1], host: host, path: m[3]}, nil
	}
	if strings.Contains(raw, "@") && strings.Contains(raw, ":") {
		return Address{}, errors.New("git URL is neither a path, [user@]host:path nor a URL with a scheme")
	}
	return parseFile(raw)
}

func parseFile(name string) (Address, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return Address{}, fmt.Errorf("git URL %q: %w", name, err)
	}
	return Address{scheme: "file", path: filepath.ToSlash(abs)}, nil
}

func parseFullURL(raw string) (Address, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Address{}, errors.New("git URL cannot be parsed") // url.Parse quotes the URL, which can contain a secret
	}
	if _, has := u.User.Password(); has {
		return Address{}, fmt.Errorf("git URL of host %s contains a password: put credentials into auth instead",
			u.Hostname())
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return Address{}, fmt.Errorf("git URL of host %s contains a query or a fragment", u.Hostname())
	}
	a := Address{
		scheme: strings.ToLower(u.Scheme),
		user:   u.User.Username(),
		host:   strings.ToLower(u.Hostname()),
		port:   u.Port(),
		path:   u.Path,
	}
	return a.validate()
}

// validate checks and completes an address by the rules of its scheme.
func (a Address) validate() (Address, error) {
	var defaultPort string
	switch a.scheme {
	case "file":
		if a.host != "" && a.host != "localhost" {
			return Address{}, fmt.Errorf("git URL file://%s%s names a host: use file:///path", a.host, a.path)
		}
		return parseFile(a.path)
	case "http":
		defaultPort = "80"
	case "https":
		defaultPort = "443"
	case "ssh", "git+ssh", "ssh+git":
		a.scheme, defaultPort = "ssh", "22"
	default:
		return Address{}, fmt.Errorf("git URL scheme %q is not supported: use https, http, ssh or file", a.scheme)
	}
	if a.host == "" || strings.Trim(a.path, "/") == "" {
		return Address{}, fmt.Errorf("git URL %s://%s%s needs a host and a path", a.scheme, a.host, a.path)
	}
	if a.port == defaultPort {
		a.port = ""
	}
	return a, nil
}
