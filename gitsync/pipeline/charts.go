package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Charts says how Helm charts are fetched.
type Charts struct {
	// Update is how often version ranges are looked up again: a time of at least `1m`, or `never`. See
	// docs/build-reference.md#which-version-of-a-chart. Default: 1h.
	Update ChartUpdate `json:"update,omitempty"`
	// Repositories are repositories of charts and their dependencies that need credentials, certificates or a proxy,
	// or whose address is not public. Default: none.
	Repositories []ChartRepository `json:"repositories,omitempty"`
	// Verify says which charts must be signed, and by whom. See docs/build-reference.md#signed-charts. Default: none
	// must be.
	Verify []ChartVerify `json:"verify,omitempty"`
}

// ChartVerify says who must have signed the charts at a URL, and below it. The longest URL counts. A chart that is not
// signed so is not used. Keys are public ones; a chart must be signed by one of those in the file.
type ChartVerify struct {
	// URL is an https, http or oci URL of a repository, of a chart, or of what is above them. If several entries
	// match, the longest URL counts. Default: all charts.
	URL string `json:"url,omitempty"`
	// CosignKeyFile and CosignKeyEnv hold public keys of cosign in PEM, one of which must have signed the chart; only
	// for charts in registries.
	CosignKeyFile string `json:"cosignKeyFile,omitempty"`
	CosignKeyEnv  string `json:"cosignKeyEnv,omitempty"`
	// KeyringFile and KeyringEnv hold PGP public keys, armoured or as `gpg --export` writes them, one of which must
	// have signed the chart's provenance file.
	KeyringFile string `json:"keyringFile,omitempty"`
	KeyringEnv  string `json:"keyringEnv,omitempty"`
	// Unverified accepts the charts without a check, also if a HelmRelease demands one. Default: false.
	Unverified bool `json:"unverified,omitempty"`
}

// ChartUpdate is a time, or `never`.
type ChartUpdate string

// ChartRepository says how the charts at a URL, and below it, are reached. The longest URL counts.
type ChartRepository struct {
	// URL is an https, http or oci URL of a repository, of a chart, or of what is above them. If several entries
	// match, the longest URL counts.
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
		f.check(!has.bearer && !has.key && !has.hosts && !has.app, at+".auth",
			"use a user name and password, certificates, or a proxy",
			"bearer tokens, SSH and GitHub Apps are not for repositories of charts")
		web := r.URL
		if rest, isOCI := strings.CutPrefix(web, "oci://"); isOCI {
			web = "https://" + rest
		}
		f.add(validateAuth(at+".auth", web, r.Auth))
	}
	for i, v := range c.Verify {
		at := fmt.Sprintf("%s.verify[%d]", path, i)
		f.add(validateChartVerify(at, v))
		isOther := func(other ChartVerify) bool { return other.URL == v.URL }
		f.check(slices.IndexFunc(c.Verify, isOther) == i, at+".url", "write it once; a file may hold several keys",
			"is there already")
	}
	return f
}

func validateChartVerify(at string, v ChartVerify) findings {
	var f findings
	if v.URL != "" {
		f.add(validateWebURL(at+".url", v.URL, "https", "http", "oci"))
		f.check(!strings.Contains(v.URL, "?"), at+".url", "", "must not hold a query")
	}
	ways := 0
	hasCosign, hasKeyring := v.CosignKeyFile+v.CosignKeyEnv != "", v.KeyringFile+v.KeyringEnv != ""
	for _, isSet := range []bool{hasCosign, hasKeyring, v.Unverified} {
		if isSet {
			ways++
		}
	}
	f.check(ways == 1, at, "set cosignKeyFile, keyringFile, or unverified: true",
		"must say one way in which the charts are verified, and says %d", ways)
	f.check(!hasCosign || !strings.HasPrefix(v.URL, "http"), at, "use keyringFile",
		"cosign signs charts in registries (oci://) only")
	return f
}
