package chart

import (
	"net/url"
	"path"
	"strings"

	"github.com/agentry-dev/agentry/inputs/chart/signed"
)

// Trust says who must have signed the charts at or below a URL.
type Trust struct {
	// URL is the URL of a repository or chart, or a prefix of it. If empty, the Trust applies to all charts.
	URL string
	// Keys are the keys that may sign the charts. If nil, they are accepted without a signature.
	Keys *signed.Keys
}

// trust returns the Trust with the longest URL that covers a chart, or nil.
func (v *Versions) trust(of Source) (best *Trust) {
	for i := range v.trusts {
		t := &v.trusts[i]
		if t.covers(of) && (best == nil || len(t.URL) > len(best.URL)) {
			best = t
		}
	}
	return best
}

// covers compares URLs more loosely than [Repository], which decides about credentials: another spelling of a chart's
// address must not avoid the check.
func (t *Trust) covers(of Source) bool {
	if t.URL == "" {
		return true
	}
	site, folder, err := address(t.URL)
	at, name, failed := address(of.URL)
	return err == nil && failed == nil && site == at && strings.HasPrefix(name, folder)
}

// address returns the site of a URL, including its port, and its path with a trailing slash.
func address(text string) (site, folder string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", "", err
	}
	port, kind := u.Port(), "web"
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "oci":
		kind = "registry"
	case port == "" && scheme == "http":
		port = "80"
	}
	if port == "" {
		port = "443"
	}
	if kind == "web" && port == "80" { // the same server without TLS
		port = "443"
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return kind + " " + host + " " + port, strings.TrimSuffix(path.Clean("/"+u.Path), "/") + "/", nil
}

// IsTrusted reports whether it is configured who must sign a chart, or that nobody has to.
func (w View) IsTrusted(of Source) bool {
	if w.versions == nil || w.rendered {
		return true // rendered charts are not checked again
	}
	w.versions.mu.Lock()
	defer w.versions.mu.Unlock()
	return w.versions.trust(of) != nil
}
