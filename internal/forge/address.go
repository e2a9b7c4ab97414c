package forge

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
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

// parseAddress checks a configuration.
func parseAddress(k kind, cfg Config) (address, error) {
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
	if strings.Contains(at.owner, "/") && !k.hasSubgroups {
		return address{}, fmt.Errorf("repository %q is not owner/name", cfg.Repository)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	at.site, at.api = k.api(u)
	return at, nil
}
