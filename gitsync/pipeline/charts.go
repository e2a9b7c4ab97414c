package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Charts says how Helm charts are fetched.
type Charts struct {
	// Update is how often the repositories of charts are asked again which versions there are: a time such as `1h`, or
	// `never`. Default: 1h.
	Update ChartUpdate `json:"update,omitempty"`
	// Repositories are those with credentials, certificates or a proxy of their own, and those whose address is not public.
	Repositories []ChartRepository `json:"repositories,omitempty"`
}

// ChartUpdate is a time, or `never`.
type ChartUpdate string

// ChartRepository says how the charts at a URL, and below it, are reached. The longest URL counts.
type ChartRepository struct {
	// URL is an https, http or oci URL of a repository, of a chart, or of what is above them.
	URL string `json:"url"`
	// Auth is a user name and password, certificates and a proxy. Default: none.
	Auth Auth `json:"auth,omitempty"`
}

const (
	// DefaultChartUpdate follows ranges of versions as Flux does in most installations.
	DefaultChartUpdate ChartUpdate = "1h"
	// MinChartUpdate is the least time between two lookups.
	MinChartUpdate = time.Minute

	never ChartUpdate = "never"
)

// Every returns the time, which is 0 for never.
func (u ChartUpdate) Every() (time.Duration, error) {
	if u == never {
		return 0, nil
	}
	every, err := time.ParseDuration(string(u))
	if err != nil || every < MinChartUpdate {
		return 0, fmt.Errorf("must be never, or a time of at least %s", MinChartUpdate)
	}
	return every, nil
}

func validateCharts(path string, c Charts) findings {
	var f findings
	_, err := c.Update.Every()
	f.check(err == nil, path+".update", "write it like 1h, or never", "%v", err)
	var seen []string
	for i, r := range c.Repositories {
		at := fmt.Sprintf("%s.repositories[%d]", path, i)
		f.add(validateWebURL(at+".url", r.URL, "https", "http", "oci"))
		f.check(!strings.Contains(r.URL, "?"), at+".url", "", "must not hold a query")
		f.check(!slices.Contains(seen, r.URL), at+".url", "write it once", "is there already")
		seen = append(seen, r.URL)
		has := r.Auth.kinds()
		f.check(!has.bearer && !has.key && !has.hosts && !has.app, at+".auth", "use a user name and password, certificates, or a proxy", "bearer tokens, SSH and GitHub Apps are not for repositories of charts")
		web := r.URL
		if rest, isOCI := strings.CutPrefix(web, "oci://"); isOCI {
			web = "https://" + rest
		}
		f.add(validateAuth(at+".auth", web, r.Auth))
	}
	return f
}
