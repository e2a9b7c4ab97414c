package roots

import (
	"net/url"
	"strings"
)

// Repositories say where the repositories are that custom resources name.
type Repositories struct {
	// URL is that of the repository that is read, if it is known.
	URL string
	// Folders are where others are: the folder in the files of the build, by the custom resource, as Kind/namespace/name or
	// the end of that, or by the URL.
	Folders map[string]string
}

// Find returns the folder of the repository that a custom resource names by its URL.
func (r Repositories) Find(id, url string) (folder string, found bool) {
	for name := id; ; {
		if folder, found = r.Folders[name]; found {
			return folder, true
		}
		_, rest, more := strings.Cut(name, "/")
		if !more {
			break
		}
		name = rest
	}
	at := location(url)
	if at == "" {
		return "", false
	}
	for name, folder := range r.Folders {
		if location(name) == at {
			return folder, true
		}
	}
	return ".", at == location(r.URL)
}

// location is what of a URL says which repository it is, whoever reads it and how: its host and path. It is empty if the
// text is no URL.
func location(text string) string {
	if text == "" {
		return ""
	}
	if !strings.Contains(text, "://") {
		host, path, isSCP := strings.Cut(text, ":")
		if !isSCP || strings.Contains(host, "/") {
			return ""
		}
		text = "ssh://" + host + "/" + path
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname()) + "/" + strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
}
