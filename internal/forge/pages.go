package forge

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Pages are where people read a repository on the site of its forge. The zero value knows no address.
type Pages struct {
	repository   string // its page
	commit, file string // what comes between that and a commit
}

// PagesOf returns the pages of a repository, by the forge that its pipeline names. Without one, the hosts count that
// are known for one kind of forge.
func PagesOf(f *pipeline.Forge, repository string) Pages {
	if f == nil {
		if f = wellKnown(repository); f == nil {
			return Pages{}
		}
	}
	k, ok := kindOf(f.Type)
	if !ok {
		return Pages{}
	}
	at, err := parseAddress(k, Config{URL: f.URL, Repository: PathAtSite(f.URL, repository)})
	if err != nil {
		return Pages{}
	}
	return Pages{repository: at.String(), commit: k.commitPath, file: k.filePath}
}

// wellKnown returns the forge at the host of a repository, or nil.
func wellKnown(repository string) *pipeline.Forge {
	host, _, _ := strings.Cut(pipeline.RepositoryAddress(repository), "/")
	kinds := map[string]pipeline.ForgeType{"github.com": pipeline.ForgeGitHub, "gitlab.com": pipeline.ForgeGitLab,
		"codeberg.org": pipeline.ForgeGitea}
	if kinds[host] == "" {
		return nil
	}
	return &pipeline.Forge{Type: kinds[host], URL: "https://" + host}
}

// PathAtSite returns the path of a repository at a site, which can be in a subfolder of its host.
func PathAtSite(site, repository string) string {
	_, path, _ := strings.Cut(pipeline.RepositoryAddress(repository), "/")
	if u, err := url.Parse(site); err == nil {
		if folder := strings.Trim(u.Path, "/"); folder != "" {
			path = strings.TrimPrefix(path, folder+"/")
		}
	}
	return path
}

// Commit returns the page of a commit, or "" if it is not known.
func (p Pages) Commit(commit string) string {
	if p.repository == "" || commit == "" {
		return ""
	}
	return p.repository + p.commit + commit
}

// File returns the page of a file at a commit, at a line if there is one, or "" if it is not known.
func (p Pages) File(commit, name string, line int) string {
	if p.repository == "" || commit == "" || name == "" {
		return ""
	}
	address := p.repository + p.file + commit + (&url.URL{Path: "/" + name}).EscapedPath()
	if line > 0 {
		address += "#L" + strconv.Itoa(line)
	}
	return address
}
