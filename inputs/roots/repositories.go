package roots

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/kustomize"
)

// Repositories locate the repositories that custom resources name.
type Repositories struct {
	// URL is the URL of the main repository, if known.
	URL string
	// Folders are the folders in which other repositories are mounted, by URL or by custom resource:
	// Kind/namespace/name, namespace/name or name.
	Folders map[string]string
	// Revisions are the refs at which repositories are read, by folder. Without one, no revision is checked.
	Revisions map[string]Revision
	// Output is where agentry writes. What applies it is not followed: it applies objects made of those that are read.
	Output Output
}

// Output is the repository and the branches that agentry writes.
type Output struct {
	URL      string
	Branches []string
}

// IsOutput reports whether a revision of a repository is written by agentry.
func (r Repositories) IsOutput(url, revision string) bool {
	branch := strings.TrimPrefix(revision, "refs/heads/")
	return branch != "" && isSame(url, r.Output.URL) &&
		slices.Contains(r.Output.Branches, branch)
}

// Revision is the ref at which a repository is read.
type Revision struct {
	Text  string   // such as branch main
	Names []string // the names that custom resources can use for it
	// Commit is the commit that is read, and Tags are names of the same one; they are empty if unknown. A root does not
	// depend on them: what it reads is the same in each commit in which its files are.
	Commit string   `json:"-"`
	Tags   []string `json:"-"`
}

// isNamed reports whether a name in a custom resource means the revision. Argo CD accepts the start of a commit id,
// too.
func (r Revision) isNamed(name string) bool {
	const shortest = 7
	return name == "" || name == "HEAD" || slices.Contains(r.Names, name) ||
		slices.Contains(r.Tags, strings.TrimPrefix(name, "refs/tags/")) ||
		len(name) >= shortest && strings.HasPrefix(r.Commit, strings.ToLower(name)) || r.isIn(name)
}

// isIn reports whether a tag of the commit is in a range of versions. As in Flux, a tag may start with a v.
func (r Revision) isIn(wanted string) bool {
	constraint, err := semver.NewConstraint(wanted)
	return err == nil && slices.ContainsFunc(r.Tags, func(tag string) bool {
		v, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
		return err == nil && constraint.Check(v)
	})
}

// Warn returns a warning if a custom resource wants another revision of the repository in folder than the pipeline
// reads.
func (r Repositories) Warn(folder, field, wanted string) diag.List {
	read, found := r.Revisions[folder]
	if !found || read.isNamed(wanted) {
		return nil
	}
	return diag.List{diag.OtherRevision.At(field,
		"%.100q is not the revision of this repository that the pipeline reads: %s", wanted, read.Text).
		WithHint("correct it, or the ref of the source in the pipeline")}
}

// Unknown says why a URL is not the repository that is read, and what to do if it is. id is what --source maps to a
// folder; url may be unknown.
func (r Repositories) Unknown(field, id, url string) *diag.Diagnostic {
	const mapping = " to a source in sourceRefs of the pipeline"
	message, own := fmt.Sprintf("it is unknown where %s is", id), ""
	if url != "" {
		message = fmt.Sprintf("%.200s is another repository than this one, %s", shown(url), shown(r.URL))
		if location(r.URL) == "" || strings.HasPrefix(r.URL, "file:") {
			message = fmt.Sprintf("%.200s is not known to be this repository, which has no remote origin", shown(url))
		}
		own = fmt.Sprintf("if it is this one: --source %s=.; otherwise ", id)
	}
	d := diag.BuildRefused.At(field, "%s", message).WithHint("map it" + mapping).
		WithFlags(fmt.Sprintf("%s--source %s=FOLDER reads a folder in place of it", own, id))
	d.Cause = diag.Cause{Things: "custom resources", Problem: "name repositories that are not read", Of: id,
		Reason: message, Hint: "map each" + mapping,
		Flags: "--source NAME=FOLDER reads a folder in place of it, or NAME=. if it is this one"}
	return &d
}

// shown returns a URL without credentials.
func shown(url string) string {
	if u := parsed(url); u != nil {
		return strings.ToLower(u.Host) + strings.TrimPrefix(location(url), strings.ToLower(u.Hostname()))
	}
	return url[strings.LastIndex(url, "@")+1:]
}

// Find returns the folder of the repository that the custom resource id names with url.
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
	for name, folder := range r.Folders {
		if isSame(url, name) {
			return folder, true
		}
	}
	return ".", isSame(url, r.URL)
}

var _ kustomize.Repositories = Repositories{}

// Mounted implements [kustomize.Repositories].
func (r Repositories) Mounted(of kustomize.Remote) (folder string, warning *diag.Diagnostic, found bool) {
	if folder, found = r.Find("", of.URL); !found {
		return "", nil, false
	}
	if warnings := r.Warn(folder, "", of.Ref); len(warnings) > 0 {
		warning = &warnings[0]
	}
	return folder, warning, true
}

// isSame reports whether two texts are URLs of one repository, regardless of protocol, user and case, which servers
// ignore in paths, too. Ports must be equal, but for those of SSH and HTTP, which always differ.
func isSame(a, b string) bool {
	at := location(a)
	if at == "" || !strings.EqualFold(at, location(b)) {
		return false
	}
	one, other := parsed(a), parsed(b)
	isSSH := one.Scheme == "ssh"
	return isSSH != (other.Scheme == "ssh") || portOf(one) == portOf(other)
}

// portOf returns the port of a URL, or "" for the usual one.
func portOf(u *url.URL) string {
	if port := u.Port(); port != map[string]string{"https": "443", "http": "80", "ssh": "22"}[u.Scheme] {
		return port
	}
	return ""
}

// location returns the host and path of a Git URL, or "" if text is not a URL.
func location(text string) string {
	u := parsed(text)
	if u == nil {
		return ""
	}
	return strings.ToLower(u.Hostname()) + "/" + strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
}

// parsed returns a Git URL, or nil if text is none.
func parsed(text string) *url.URL {
	if text == "" {
		return nil
	}
	if strings.HasPrefix(strings.ToLower(text), "github.com/") {
		text = "https://" + text // as kustomize reads it
	}
	if !strings.Contains(text, "://") {
		host, path, isSCP := strings.Cut(text, ":")
		if !isSCP || strings.Contains(host, "/") {
			return nil
		}
		text = "ssh://" + host + "/" + path
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	return u
}
