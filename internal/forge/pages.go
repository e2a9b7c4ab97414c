package forge

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Pages has the URLs of a repository's pages at its forge. The zero value has none.
type Pages struct {
	repository   string // the repository's page
	commit, file string // the paths between that page and a commit
}

// PagesOf returns the pages of a repository at the forge that its pipeline names, or else at a well-known host.
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

// wellKnown returns the forge at a repository's host, or nil if the host is not well known.
func wellKnown(repository string) *pipeline.Forge {
	host, _, _ := strings.Cut(pipeline.RepositoryAddress(repository), "/")
	kinds := map[string]pipeline.ForgeType{"github.com": pipeline.ForgeGitHub, "gitlab.com": pipeline.ForgeGitLab,
		"codeberg.org": pipeline.ForgeGitea}
	if kinds[host] == "" {
		return nil
	}
	return &pipeline.Forge{Type: kinds[host], URL: "https://" + host}
}

// PathAtSite returns the path of a repository at a site, which may be in a subfolder of its host.
func PathAtSite(site, repository string) string {
	_, path, _ := strings.Cut(pipeline.RepositoryAddress(repository), "/")
	if u, err := url.Parse(site); err == nil {
		if folder := strings.Trim(u.Path, "/"); folder != "" {
			path = strings.TrimPrefix(path, folder+"/")
		}
	}
	return path
}

// Commit returns the page of a commit, or "" if unknown.
func (p Pages) Commit(commit string) string {
	if p.repository == "" || commit == "" {
		return ""
	}
	return p.repository + p.commit + commit
}

// File returns the page of a file at a commit, and at a line if it is not 0, or "" if unknown.
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
