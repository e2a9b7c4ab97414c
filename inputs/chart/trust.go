package chart

import (
	"net/url"
	"path"
	"strings"

	"github.com/agentry-dev/agentry/inputs/chart/signed"
)

// Trust says who must have signed the charts at a URL, and below it.
type Trust struct {
	// URL is that of a repository, of a chart, or of what is above them. Empty: all charts.
	URL string
	// Keys are those that may sign them. Nil: any chart is accepted, with or without a signature.
	Keys *signed.Keys
}

// trust returns what holds for a chart: of all whose URL begins the chart's, the one with the longest. Nil: nothing was
// said.
func (v *Versions) trust(of Source) (best *Trust) {
	for i := range v.trusts {
		t := &v.trusts[i]
		if t.covers(of) && (best == nil || len(t.URL) > len(best.URL)) {
			best = t
		}
	}
	return best
}

// covers compares more loosely than [Repository] does, which decides about credentials: whoever writes the URL of a
// chart cannot avoid the check by another spelling of the same address.
func (t *Trust) covers(of Source) bool {
	if t.URL == "" {
		return true
	}
	site, folder, err := address(t.URL)
	at, name, failed := address(of.URL)
	return err == nil && failed == nil && site == at && strings.HasPrefix(name, folder)
}

// address returns the site of a URL, with its port, and its path, which ends with a slash.
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

// IsTrusted reports whether somebody said who must sign a chart, or that nobody has to.
func (w View) IsTrusted(of Source) bool {
	if w.versions == nil || w.rendered {
		return true // what was rendered stays
	}
	w.versions.mu.Lock()
	defer w.versions.mu.Unlock()
	return w.versions.trust(of) != nil
}
