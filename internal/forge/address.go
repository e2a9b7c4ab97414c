package forge

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// address is the location of a repository.
type address struct {
	site  string // the site: scheme, host and path above the repositories
	api   string // the URL of the API, with a slash at the end
	owner string // contains slashes in subgroups of GitLab
	name  string
}

// String returns the page of the repository, for errors.
func (a address) String() string { return a.site + "/" + a.path() }

func (a address) path() string { return a.owner + "/" + a.name }

// maxURLBytes limits the URL in a status, as GitLab does.
const maxURLBytes = 255

// parseAddress checks a configuration and returns the address of its repository.
func parseAddress(k kind, cfg Config) (address, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		return address{}, errors.New("the forge's URL cannot be parsed") // the error could quote a secret
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return address{}, errors.New("the forge's URL needs https or http and a host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return address{}, fmt.Errorf("the forge's URL of host %s has more than scheme, host and path", u.Hostname())
	}
	cut := strings.LastIndex(cfg.Repository, "/")
	if cut <= 0 || cut == len(cfg.Repository)-1 {
		return address{}, fmt.Errorf("repository %q is not owner/name", cfg.Repository)
	}
	at := address{owner: cfg.Repository[:cut], name: cfg.Repository[cut+1:]}
	if strings.Contains(at.owner, "/") && !k.hasSubgroups {
		return address{}, fmt.Errorf("repository %q is not owner/name", cfg.Repository)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	at.site, at.api = k.api(u)
	return at, nil
}
