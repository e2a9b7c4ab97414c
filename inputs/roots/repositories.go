package roots

import (
	"net/url"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Repositories say where the repositories are that custom resources name.
type Repositories struct {
	// URL is that of the repository that is read, if it is known.
	URL string
	// Folders are where others are: the folder in the files of the build, by the custom resource, as
	// Kind/namespace/name or the end of that, or by the URL.
	Folders map[string]string
	// Revisions are the refs at which repositories are read, by the folder. A repository without one may be read at
	// any.
	Revisions map[string]Revision
}

// Revision is the ref at which a repository is read.
type Revision struct {
	Text  string   // such as branch main
	Names []string // the names that custom resources can use for it
}

// Warn returns a warning if a custom resource wants another revision of the repository in a folder than the one that is
// read.
func (r Repositories) Warn(folder, field, wanted string) diag.List {
	read, found := r.Revisions[folder]
	if !found || wanted == "" || wanted == "HEAD" || slices.Contains(read.Names, wanted) {
		return nil
	}
	return diag.List{diag.OtherRevision.At(field,
		"%.100q is another revision than the pipeline reads of this repository: %s", wanted, read.Text).
		WithHint("correct it, or the ref of the source in the pipeline")}
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

// location returns the host and path of a URL: they identify a repository, whatever the protocol and the user are. It
// is empty if the text is no URL.
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
