package forge

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/agentry-dev/agentry/gitsync"
)

// address is where a repository is.
type address struct {
	site  string // of people: scheme, host and path below which the repositories are
	api   string // of programs, with a slash at the end
	owner string // may hold slashes at GitLab
	name  string
}

// String is for errors.
func (a address) String() string { return a.site + "/" + a.path() }

func (a address) path() string { return a.owner + "/" + a.name }

// maxURLBytes is the longest page that a status points to: GitLab allows no more.
const maxURLBytes = 255

// githubAPI is where github.com has its API.
const githubAPI = "https://api.github.com/"

// parseAddress checks a configuration.
func parseAddress(cfg Config) (address, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		return address{}, errors.New("the forge's URL cannot be parsed") // it may hold a secret
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return address{}, errors.New("the forge's URL needs https or http and a host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return address{}, fmt.Errorf("the forge's URL of host %s holds more than an address", u.Hostname())
	}
	cut := strings.LastIndex(cfg.Repository, "/")
	if cut <= 0 || cut == len(cfg.Repository)-1 {
		return address{}, fmt.Errorf("repository %q is not owner/name", cfg.Repository)
	}
	at := address{owner: cfg.Repository[:cut], name: cfg.Repository[cut+1:]}
	if strings.Contains(at.owner, "/") && cfg.Type != gitsync.ForgeGitLab {
		return address{}, fmt.Errorf("repository %q is not owner/name", cfg.Repository)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	at.site = u.String()
	switch cfg.Type {
	case gitsync.ForgeGitHub:
		at.site, at.api = githubSite(u)
	case gitsync.ForgeGitLab:
		at.api = at.site + "/api/v4/"
	default:
		at.api = at.site + "/api/v1/"
	}
	return at, nil
}

// githubSite tells the address of a GitHub's pages and of its API from either.
func githubSite(u *url.URL) (site, api string) {
	switch host := strings.ToLower(u.Host); {
	case host == "github.com" || host == "api.github.com":
		return "https://github.com", githubAPI
	case strings.HasSuffix(host, ".ghe.com"): // GitHub Enterprise Cloud with data residency
		host = strings.TrimPrefix(host, "api.")
		return "https://" + host, "https://api." + host + "/"
	}
	site = strings.TrimSuffix(u.String(), "/api/v3")
	return site, site + "/api/v3/"
}
