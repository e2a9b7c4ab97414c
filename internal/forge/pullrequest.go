package forge

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// ParsePullRequest parses the URL of a pull request's page. Each kind of forge has its own form of it, so the URL
// tells the kind too.
func ParsePullRequest(page string) (cfg Config, number int, err error) {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return cfg, 0, fmt.Errorf("%q is not the address of a pull request", page)
	}
	for mark, name := range map[string]pipeline.ForgeType{
		"/pull/": pipeline.ForgeGitHub, "/-/merge_requests/": pipeline.ForgeGitLab, "/pulls/": pipeline.ForgeGitea,
	} {
		cut := strings.LastIndex(u.Path, mark)
		if cut < 0 {
			continue
		}
		repository, site := strings.Trim(u.Path[:cut], "/"), ""
		number, err = strconv.Atoi(u.Path[cut+len(mark):])
		// the site is in a subfolder
		if names := strings.Split(repository, "/"); name != pipeline.ForgeGitLab && len(names) > 2 {
			at := len(names) - 2
			site, repository = "/"+strings.Join(names[:at], "/"), strings.Join(names[at:], "/")
		}
		if err == nil && number > 0 && strings.Contains(repository, "/") {
			return Config{Type: name, URL: u.Scheme + "://" + u.Host + site, Repository: repository}, number, nil
		}
	}
	return cfg, 0, fmt.Errorf(
		"%q is not the address of a pull request: it ends like /owner/name/pull/7 at GitHub, "+
			"/group/name/-/merge_requests/7 at GitLab, /owner/name/pulls/7 at Gitea and Forgejo", page)
}
