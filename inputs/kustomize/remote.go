package kustomize

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Remote is a remote entry of a kustomization: a folder or file of a Git repository, or a file at a URL.
type Remote struct {
	// URL is the repository, without a user name for GitHub, or the file.
	URL string
	// Ref is a branch, a tag or a commit of the repository. If empty, it is the default branch.
	Ref string
	// Path is the folder in the repository; "." is its top.
	Path string
	// IsFile means that the URL is that of a file.
	IsFile bool
}

// Repositories are those that are read anyway.
type Repositories interface {
	// Mounted returns the folder in which the repository of an entry is read, and a warning if that is another revision
	// than the entry names.
	Mounted(r Remote) (folder string, warning *diag.Diagnostic, found bool)
}

// user matches the user name in the URL of a remote entry.
var user = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// allSegments means that the whole path of a URL is that of the repository.
const allSegments = -1

// parseRemote reads a remote entry as kustomize does: see RepoSpec in its package git. kustomize asks the server
// whether an http or https URL is a file. Here it is one if it must be, or if it has the name of a manifest, and
// neither a ref nor a mark where the path of a repository ends.
func parseRemote(entry string, mustBeFile bool) (Remote, error) {
	text, query, _ := strings.Cut(entry, "?")
	scheme, rest, _ := strings.Cut(text, "://")
	isMarked := strings.Contains(rest, "//") || strings.Contains(rest, ".git/") || strings.Contains(query, "ref=")
	if isWeb := strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http"); isWeb &&
		(mustBeFile || isYAML(text) && !isMarked) {
		return Remote{URL: entry, IsFile: true}, nil
	}
	if mustBeFile {
		return Remote{}, errors.New("kustomize reads files only at http and https URLs")
	}
	r := Remote{}
	if values, err := url.ParseQuery(query); err == nil {
		r.Ref = cmp.Or(values.Get("ref"), values.Get("version"))
	}
	if len(text) > len("git::") && strings.EqualFold(text[:len("git::")], "git::") {
		text = text[len("git::"):]
	}
	host, rest, segments, err := splitHost(text)
	if err != nil {
		return Remote{}, err
	}
	repository, folder, isSplit := splitRepository(rest, segments)
	if r.Path = path.Clean(cmp.Or(strings.TrimPrefix(folder, "/"), ".")); !isSplit || repository == "" ||
		r.Path == ".." || strings.HasPrefix(r.Path, "../") {
		return Remote{}, fmt.Errorf("it does not name a repository, and a folder in it")
	}
	r.URL = host + repository
	return r, nil
}

// isYAML reports whether a URL has the name of a manifest.
func isYAML(text string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(text)))
}

// splitHost splits a URL after the host. Without // and .git the path of a repository has so many segments.
func splitHost(text string) (host, rest string, segments int, err error) {
	const ownerAndName = 2
	scheme := ""
	for _, known := range []string{"ssh://", "https://", "http://", "file://"} {
		if len(text) >= len(known) && strings.EqualFold(text[:len(known)], known) {
			scheme, text = known, text[len(known):]
		}
	}
	if scheme == "file://" {
		return scheme, text, allSegments, nil
	}
	name := user.FindString(text)
	text = text[len(name):]
	lower := strings.ToLower(text)
	isGitHub := strings.HasPrefix(lower, "github.com/") || strings.HasPrefix(lower, "github.com:")
	isSCP := scheme == "" && (name != "" || isGitHub)
	if name, _, has := strings.Cut(text, "://"); has && scheme == "" {
		return "", "", 0, fmt.Errorf("kustomize does not know the scheme %.20q", name)
	}
	if scheme == "" && !isSCP {
		return "", "", 0, fmt.Errorf("its URL has no scheme")
	}
	end := strings.Index(text, "/")
	if colon := strings.Index(text, ":"); isSCP && colon > 0 && (end < 0 || colon < end) {
		end = colon
	}
	if end <= 0 {
		return "", "", 0, fmt.Errorf("its URL has no host and path")
	}
	host, rest = text[:end+1], text[end+1:]
	switch {
	case isGitHub && (scheme == "ssh://" || name != ""):
		return cmp.Or(name, "git@") + "github.com:", rest, ownerAndName, nil
	case isGitHub:
		return "https://github.com/", rest, ownerAndName, nil
	}
	return scheme + name + host, rest, ownerAndName, nil
}

// splitRepository splits the path of a URL after the repository.
func splitRepository(text string, segments int) (repository, folder string, isSplit bool) {
	const azure, suffix = "_git/", ".git"
	if i := strings.Index(text, azure); i >= 0 {
		name, folder, _ := strings.Cut(text[i+len(azure):], "/")
		return text[:i+len(azure)] + name, folder, true
	}
	if repository, folder, found := strings.Cut(text, "//"); found {
		return repository, folder, true
	}
	if i := strings.Index(text, suffix); i >= 0 {
		return text[:i+len(suffix)], text[i+len(suffix):], true
	}
	if segments == allSegments {
		return text, "", true
	}
	parts := strings.Split(text, "/")
	if len(parts) < segments {
		return "", "", false
	}
	return strings.Join(parts[:segments], "/"), strings.Join(parts[segments:], "/"), true
}

// remote makes the kustomization name a file or folder of the tree in place of a remote entry, and returns the new
// entry.
func (c *checker) remote(f *file, dir string, e entry) (entry, error) {
	r, err := parseRemote(e.path, e.use == text || e.use == patch)
	if err != nil {
		return e, f.at(diag.BuildRefused, e.field, "is remote, and "+err.Error(),
			"write it as https://HOST/OWNER/REPOSITORY//FOLDER?ref=REF")
	}
	if c.opts.Repositories != nil && !r.IsFile {
		if folder, warning, found := c.opts.Repositories.Mounted(r); found {
			if warning != nil {
				warning.Message = e.field + ": " + warning.Message
				warning.File, warning.Line, warning.Column = f.find(e.field)
				c.warnings = append(c.warnings, *warning)
			}
			c.tree.Admit(folder)
			if folder != "." { // else nothing tells its files from those of this kustomization
				c.remotes[folder] = cmp.Or(c.remotes[folder], e.path)
			}
			return c.rename(f, dir, e, path.Join(folder, r.Path))
		}
	}
	kind := chart.Git
	if r.IsFile {
		kind = chart.File
	}
	of, isAllowed := c.opts.Charts.Remote(kind, r.URL, r.Ref)
	if !isAllowed {
		hint := "list it in build.remotes of the pipeline"
		fetches := "--remotes fetches whatever is remote"
		switch u, err := url.Parse(r.URL); {
		case err == nil && u.User != nil && u.Scheme != "ssh":
			hint += ", with its user name and password in auth, and not in the URL"
		case err == nil && u.Scheme == "file":
			fetches = "--set spec.build.remotes[0].url=" + shown(r.URL) + " fetches it"
		}
		all := fetches + "; --source URL=FOLDER reads a folder in place of a repository"
		if !r.IsFile {
			fetches += "; --source " + shown(r.URL) + "=FOLDER reads a folder in place of it"
		}
		cause := diag.Cause{Things: "remote entries", Problem: "are not fetched",
			Hint: "list their URLs in build.remotes of the pipeline", Flags: all, Of: hostOf(r.URL),
			Many: "hosts", Reason: shown(r.URL)}
		d := f.at(diag.BuildRefused, e.field, "is remote, and "+shown(r.URL)+" is not fetched", hint)
		d.Cause, d.Flags = cause, fetches
		return e, d
	}
	folder, err := c.fetch(of)
	if missing, ok := errors.AsType[*chart.Error](err); ok {
		return e, new(f.at(diag.BuildFailed, e.field, missing.Error(), "").Because(missing.Cause()))
	}
	if err != nil {
		return e, f.at(diag.BuildFailed, e.field, err.Error(), "")
	}
	at := folder
	if r.IsFile {
		r.Path = fileName(of.URL)
		at = path.Join(folder, r.Path)
	}
	c.remotes[at] = cmp.Or(c.remotes[at], e.path)
	return c.rename(f, dir, e, path.Join(folder, r.Path))
}

// shown returns a URL without credentials and query.
func shown(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return user.ReplaceAllString(text, "")
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// hostOf returns the host of a URL, also of Git's short form of ssh URLs.
func hostOf(text string) string {
	if u, err := url.Parse(text); err == nil && u.Scheme != "" {
		return cmp.Or(u.Host, u.Scheme+"://")
	}
	text = user.ReplaceAllString(text, "")
	return text[:max(strings.IndexAny(text, ":/"), 0)]
}

// fileName returns the last part of the path of a URL.
func fileName(text string) string {
	text, _, _ = strings.Cut(text, "?")
	return path.Base(text)
}

// fetch mounts what was fetched in the tree, and returns its folder there: @NAME- and the start of the commit, or of
// the digest of a file.
func (c *checker) fetch(of chart.Source) (string, error) {
	pin, err := c.opts.Charts.Pin(of)
	if err != nil {
		return "", err
	}
	const shown = 8
	id := strings.TrimPrefix(cmp.Or(pin.Digest, pin.Version), "sha256:")
	prefix := "@" + strings.TrimSuffix(fileName(of.URL), ".git") + "-"
	folder := prefix + id[:shown]
	if known, isFetched := c.mounts[folder]; known.id != id && (isFetched || c.tree.IsMounted(folder)) {
		folder = prefix + id
	}
	if c.mounts[folder].open != nil {
		return folder, nil
	}
	open := func() (tree.Files, func(), error) { return c.opts.Charts.Open(of, pin) }
	files, done, err := open()
	if err != nil {
		return "", err
	}
	c.mounts[folder], c.closers = mount{id, open}, append(c.closers, done)
	c.tree.MountFetched(folder, files)
	return folder, nil
}

// mount is what was fetched.
type mount struct {
	id   string // the whole commit or digest
	open Open
}

// rename makes the kustomization name a file or folder of the tree.
func (c *checker) rename(f *file, dir string, e entry, name string) (entry, error) {
	below, err := filepath.Rel("/"+dir, "/"+name)
	if err != nil {
		return e, f.at(diag.BuildRefused, e.field, "cannot be found: "+err.Error(), "")
	}
	e.path, e.fetched = filepath.ToSlash(below), name
	*e.at = e.path
	c.changed[f.name] = []byte(marshal(f.Kustomization))
	return e, nil
}

// close closes what was fetched.
func (c *checker) close() {
	for _, done := range c.closers {
		done()
	}
}

// opening returns a function that opens the files with the repositories that were fetched.
func (c *checker) opening(open Open) Open {
	if len(c.mounts) == 0 {
		return open
	}
	return func() (tree.Files, func(), error) {
		files, done, err := open()
		if err != nil {
			return nil, nil, err
		}
		all, closers := map[string]tree.Files{}, []func(){done}
		for folder, of := range c.mounts {
			fetched, done, err := of.open()
			if err != nil {
				continue // it has no positions then
			}
			all[folder], closers = fetched, append(closers, done)
		}
		return tree.Mount(files, all), func() {
			for _, done := range closers {
				done()
			}
		}, nil
	}
}

// leaveOutRemote leaves out the remote files of generators: they can only become values of ConfigMaps and Secrets, and
// no monitor is lost without them.
func (c *checker) leaveOutRemote(f *file) {
	before := len(c.warnings)
	for i := range f.ConfigMapGenerator {
		c.leaveOutSources(f, "configMapGenerator"+index(i), &f.ConfigMapGenerator[i].GeneratorArgs)
	}
	for i := range f.SecretGenerator {
		c.leaveOutSources(f, "secretGenerator"+index(i), &f.SecretGenerator[i].GeneratorArgs)
	}
	if len(c.warnings) > before {
		c.changed[f.name] = []byte(marshal(f.Kustomization))
	}
}

// leaveOutSources leaves out the remote files of one generator. The hash in the name of its object is unknown then.
func (c *checker) leaveOutSources(f *file, field string, g *types.GeneratorArgs) {
	s := &g.KvPairSources
	for _, e := range sources(field, *s) {
		if !isRemote(e.path) {
			continue
		}
		d := diag.BuildRefused.At("", "%s: is remote, so the object is built without it", e.field).As(diag.Warning).
			WithHint("copy it into the repository if an agent needs it, or set disableNameSuffixHash")
		d.File, d.Line, d.Column = f.find(e.field)
		c.warnings = append(c.warnings, d)
		c.leftOut[g.Name] = f.name + ", " + e.field
		if f.hasSuffix(*g) {
			c.unnamed[g.Name] = true
		}
	}
	isAway := func(text string) bool {
		_, file, isNamed := strings.Cut(text, "=")
		return isRemote(text) || isNamed && isRemote(file)
	}
	s.FileSources = slices.DeleteFunc(slices.Clone(s.FileSources), isAway)
	s.EnvSources = slices.DeleteFunc(slices.Clone(s.EnvSources), isRemote)
	if isRemote(s.EnvSource) {
		s.EnvSource = ""
	}
}
