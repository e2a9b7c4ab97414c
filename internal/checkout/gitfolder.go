package checkout

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// Top returns the top of the Git work tree that a folder is in, or "".
func Top(folder string) string {
	for {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return folder
		}
		up := filepath.Dir(folder)
		if up == folder {
			return ""
		}
		folder = up
	}
}

// Remotes returns the URLs of the remotes of the Git work tree at top, by name.
func Remotes(top string) map[string]string {
	g := gitFolder{top: top}
	_, common := g.dirs()
	text, err := os.ReadFile(filepath.Join(common, "config"))
	if err != nil {
		return nil
	}
	var settings config.Config
	if config.NewDecoder(bytes.NewReader(text)).Decode(&settings) != nil {
		return nil
	}
	out := map[string]string{}
	for _, remote := range settings.Section("remote").Subsections {
		if at := remote.Option("url"); at != "" {
			if strings.HasPrefix(at, ".") {
				at = filepath.Join(top, at)
			}
			out[remote.Name] = at
		}
	}
	return out
}

// Origin returns the URL of the remote origin of the Git work tree at top, or "", as CI jobs reach it: over HTTPS, and
// without the credentials that it may hold. A remote on the disk, or over SSH at a port of its own, is left unchanged.
func Origin(top string) string {
	remote := Remotes(top)["origin"]
	if u, err := url.Parse(remote); err == nil && u.User != nil && (u.Scheme == "https" || u.Scheme == "http") {
		u.User = nil
		return u.String()
	}
	normal, err := transport.NormaliseURL(remote)
	if remote == "" || err != nil {
		return ""
	}
	u, err := url.Parse(normal)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "ssh" && u.Port() == "":
		return "https://" + u.Host + strings.TrimSuffix(u.Path, "/") + ".git"
	case u.Scheme == "file":
		return normal
	}
	return remote
}

// Branch returns the branch that is checked out in the Git work tree at top, or "". Where a commit is checked out, as
// CI systems do, it is the only branch of the remotes that was at this commit when it was fetched.
func Branch(top string) string {
	g := gitFolder{top: top}
	own, _ := g.dirs()
	text, err := os.ReadFile(filepath.Join(own, "HEAD"))
	if err != nil {
		return ""
	}
	if name, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: refs/heads/"); ok {
		return name
	}
	refs, err := OpenRepository(top).git(context.Background(), "for-each-ref", "--points-at=HEAD",
		"--format=%(refname:lstrip=2)", "refs/remotes")
	if err != nil {
		return ""
	}
	found := map[string]bool{}
	for remote := range Remotes(top) {
		for ref := range strings.FieldsSeq(refs) {
			if name, ok := strings.CutPrefix(ref, remote+"/"); ok && name != "HEAD" {
				found[name] = true
			}
		}
	}
	if len(found) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(found))[0]
}

// gitFolder is what Git knows about a folder at the top of a work tree. Outside of one it knows nothing.
type gitFolder struct {
	top     string
	once    sync.Once
	index   map[string]*index.Entry
	written time.Time       // of the index
	folders map[string]bool // with files that the index has
}

func (g *gitFolder) isRepository() bool {
	_, err := os.Lstat(filepath.Join(g.top, ".git"))
	return err == nil
}

// dirs returns the folder with the index of the work tree, and that with the settings of its repository.
func (g *gitFolder) dirs() (own, common string) {
	own = filepath.Join(g.top, ".git")
	text, err := os.ReadFile(own)
	if err != nil {
		return own, own
	}
	own = relativeTo(g.top, strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:"))) // a linked work tree
	if text, err := os.ReadFile(filepath.Join(own, "commondir")); err == nil {
		return own, relativeTo(own, strings.TrimSpace(string(text)))
	}
	return own, own
}

func relativeTo(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// rules returns what Git ignores besides the .gitignore files of the folder.
func (g *gitFolder) rules() (r ignoreRules) {
	if g.isRepository() {
		_, common := g.dirs()
		if text, err := os.ReadFile(filepath.Join(common, "info", "exclude")); err == nil {
			r.add(".", text)
		}
	}
	return r
}

// load reads the index. An index that this program does not understand counts as empty: it only saves work.
func (g *gitFolder) load() {
	g.once.Do(func() {
		g.index, g.folders = map[string]*index.Entry{}, map[string]bool{}
		own, _ := g.dirs()
		f, err := os.Open(filepath.Join(own, "index"))
		if err != nil {
			return
		}
		defer f.Close() // nothing was written
		info, err := f.Stat()
		if err != nil {
			return
		}
		var read index.Index
		if index.NewDecoder(f).Decode(&read) != nil {
			return
		}
		g.written = info.ModTime()
		for _, e := range read.Entries {
			g.index[e.Name] = e
			for dir := filepath.Dir(e.Name); dir != "." && !g.folders[dir]; dir = filepath.Dir(dir) {
				g.folders[dir] = true
			}
		}
	})
}

// tracks reports whether the index has a file or a submodule, or files in a folder.
func (g *gitFolder) tracks(name string, isDir bool) bool {
	g.load()
	return g.index[name] != nil || isDir && g.folders[name]
}

// unchanged returns the blob of a file that has not changed since Git read it. As in Git, the clock does not tell for a
// file that is as new as the index: https://git-scm.com/docs/racy-git.
func (g *gitFolder) unchanged(name string, info fs.FileInfo) (plumbing.Hash, bool) {
	g.load()
	e := g.index[name]
	if e == nil || int64(e.Size) != info.Size() || !e.ModifiedAt.Equal(info.ModTime()) ||
		!e.ModifiedAt.Before(g.written) {
		return plumbing.ZeroHash, false
	}
	return e.Hash, true
}
