package repo

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// scpLike matches git's short form of ssh URLs: [user@]host:path, where no
// slash stands before the colon.
var scpLike = regexp.MustCompile(`^(?:([^@/:]+)@)?(\[[0-9a-fA-F:.]+\]|[^@/:\[\]]+):([^:].*)$`)

// location is a remote's address in its parts.
type location struct {
	scheme string // file, http, https or ssh
	user   string // from the URL; never part of a key or an error
	host   string // lower case, IPv6 without brackets; empty for file
	port   string // empty: the scheme's own
	path   string // as the remote is to be asked for it
}

// NormaliseURL gives the form of a remote's URL that is equal for equal
// repositories: ssh URLs for git's short form, file URLs for paths, a scheme
// and host in lower case, no default port, no user name, no trailing slash and,
// except for files, no ".git". It touches no disk. A URL that holds a password
// is an error, and so is one of an unknown scheme.
func NormaliseURL(raw string) (string, error) {
	l, err := parseURL(raw)
	if err != nil {
		return "", err
	}
	return l.normal(), nil
}

func (l location) normal() string {
	p := path.Clean("/" + l.path)
	for l.scheme != "file" && strings.HasSuffix(p, ".git") {
		p = path.Clean(strings.TrimSuffix(p, ".git"))
	}
	u := url.URL{Scheme: l.scheme, Host: l.address(), Path: p}
	return u.String()
}

// address is the host as it stands in a URL: with the port if it is not the
// default one.
func (l location) address() string {
	if l.port != "" {
		return net.JoinHostPort(l.host, l.port)
	}
	if strings.Contains(l.host, ":") {
		return "[" + l.host + "]"
	}
	return l.host
}

// parseURL splits a remote's URL. Its errors never show what could be a secret.
func parseURL(raw string) (location, error) {
	switch {
	case raw == "":
		return location{}, errors.New("git URL is empty")
	case strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return location{}, errors.New("git URL contains control characters")
	case strings.Contains(raw, "://"):
		return parseFullURL(raw)
	}
	m := scpLike.FindStringSubmatch(raw)
	if m != nil && m[1] == "" && strings.Contains(m[3], "@") {
		return location{}, errors.New("git URL looks like user:password@host: put credentials into auth instead")
	}
	if m != nil {
		host := strings.ToLower(strings.Trim(m[2], "[]"))
		return location{scheme: "ssh", user: m[1], host: host, path: m[3]}, nil
	}
	if strings.Contains(raw, "@") && strings.Contains(raw, ":") {
		return location{}, errors.New("git URL is neither a path, [user@]host:path nor a URL with a scheme")
	}
	return parseFile(raw)
}

func parseFile(name string) (location, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return location{}, fmt.Errorf("git URL %q: %w", name, err)
	}
	return location{scheme: "file", path: filepath.ToSlash(abs)}, nil
}

func parseFullURL(raw string) (location, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return location{}, errors.New("git URL cannot be parsed") // url.Parse quotes the URL, which may hold a secret.
	}
	if _, has := u.User.Password(); has {
		return location{}, fmt.Errorf("git URL of host %s contains a password: put credentials into auth instead", u.Hostname())
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return location{}, fmt.Errorf("git URL of host %s contains a query or a fragment", u.Hostname())
	}
	l := location{
		scheme: strings.ToLower(u.Scheme),
		user:   u.User.Username(),
		host:   strings.ToLower(u.Hostname()),
		port:   u.Port(),
		path:   u.Path,
	}
	return l.checked()
}

// checked applies what the schemes have in common and in particular.
func (l location) checked() (location, error) {
	var defaultPort string
	switch l.scheme {
	case "file":
		if l.host != "" && l.host != "localhost" {
			return location{}, fmt.Errorf("git URL file://%s%s names a host: use file:///path", l.host, l.path)
		}
		return parseFile(l.path)
	case "http":
		defaultPort = "80"
	case "https":
		defaultPort = "443"
	case "ssh", "git+ssh", "ssh+git":
		l.scheme, defaultPort = "ssh", "22"
	default:
		return location{}, fmt.Errorf("git URL scheme %q is not supported: use https, http, ssh or file", l.scheme)
	}
	if l.host == "" || strings.Trim(l.path, "/") == "" {
		return location{}, fmt.Errorf("git URL %s://%s%s needs a host and a path", l.scheme, l.host, l.path)
	}
	if l.port == defaultPort {
		l.port = ""
	}
	return l, nil
}
