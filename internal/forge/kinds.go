package forge

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// kind has the differences between forges, apart from their clients.
type kind struct {
	name pipeline.ForgeType
	// api returns the URLs of the site's pages and of its API for the configured URL.
	api func(*url.URL) (site, api string)
	// tokenPrefix precedes the token in the Authorization header.
	tokenPrefix string
	// hasSubgroups says that the owner of a repository can contain slashes.
	hasSubgroups bool
	// commitPath and filePath are the paths between a repository's page and a commit.
	commitPath, filePath string
	// open returns the client of a repository. It sends no request.
	open func(*http.Client, address) (backend, error)
}

// kinds returns the known forges.
func kinds() []kind {
	return []kind{
		{name: pipeline.ForgeGitHub, api: githubAddress, tokenPrefix: "Bearer ", commitPath: "/commit/",
			filePath: "/blob/", open: newGitHub},
		{name: pipeline.ForgeGitLab, api: apiAt("/api/v4/"), tokenPrefix: "Bearer ", hasSubgroups: true,
			commitPath: "/-/commit/", filePath: "/-/blob/", open: newGitLab},
		{name: pipeline.ForgeGitea, api: apiAt("/api/v1/"), tokenPrefix: "token ", commitPath: "/commit/",
			filePath: "/src/commit/", open: newGitea},
	}
}

// kindOf returns the kind with a name.
func kindOf(name pipeline.ForgeType) (kind, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return all[i], true
}

// apiAt returns an api function for a site with its API at a path.
func apiAt(path string) func(*url.URL) (site, api string) {
	return func(u *url.URL) (site, api string) { return u.String(), u.String() + path }
}

// githubAddress returns the URLs of GitHub's pages and of its API, given either.
func githubAddress(u *url.URL) (site, api string) {
	switch host := strings.ToLower(u.Host); {
	case host == "github.com" || host == "api.github.com":
		return "https://github.com", "https://api.github.com/"
	case strings.HasSuffix(host, ".ghe.com"): // GitHub Enterprise Cloud with data residency
		host = strings.TrimPrefix(host, "api.")
		return "https://" + host, "https://api." + host + "/"
	}
	site = strings.TrimSuffix(u.String(), "/api/v3")
	return site, site + "/api/v3/"
}
