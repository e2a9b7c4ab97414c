package difference

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"
)

// sameTargets returns how many jobs two lists have in common, and how many of these find the same targets by equal
// discoveries and rules and scrape them at the same addresses and times. What is written in another way counts as
// different, even if it means the same. One list is the agent's and one is Alloy's.
func sameTargets(before, after []*node, shared timing) (all, same int) {
	others := make(map[string]*node, len(after))
	for _, job := range after {
		others[job.nameBy("job_name")] = job
	}
	for _, job := range before {
		other := others[job.nameBy("job_name")]
		if other == nil {
			continue
		}
		all++
		if newTargets(job, shared).key() == newTargets(other, shared).key() {
			same++
		}
	}
	return all, same
}

// timing is how often targets are scraped if their job does not say it.
type timing struct{ interval, timeout string }

// timingOf returns the scrape interval and timeout of whichever configuration is the agent's.
func timingOf(configs ...*node) timing {
	t := timing{}
	for _, c := range configs {
		t.interval = cmp.Or(t.interval, c.str("metrics", "global", "scrape_interval"))
		t.timeout = cmp.Or(t.timeout, c.str("metrics", "global", "scrape_timeout"))
	}
	return t
}

// targets is how a job finds its targets and where and when it scrapes them.
type targets struct {
	settings map[string]string // by their fields
	rules    []string
}

func (t targets) key() string { return fmt.Sprint(t.settings) + "\n" + strings.Join(t.rules, "\n") }

// newTargets reads a job.
func newTargets(job *node, shared timing) targets {
	t := targets{settings: map[string]string{
		"metrics_path":    cmp.Or(job.str("metrics_path"), "/metrics"),
		"scheme":          cmp.Or(job.str("scheme"), "http"),
		"scrape_interval": cmp.Or(job.str("scrape_interval"), shared.interval, "1m"),
		"scrape_timeout":  cmp.Or(job.str("scrape_timeout"), shared.timeout),
	}}
	params := job.get("params").read()
	if params != nil {
		for _, f := range params.fields {
			t.settings["params."+f.name] = texts(f)
		}
	}
	for _, f := range job.fields {
		if strings.HasSuffix(f.name, "_sd_configs") {
			t.settings[f.name] = fingerprint(f)
		}
	}
	t.static(job.list("static_configs"))
	var s secrets // nothing is hidden: rules are only compared
	for _, item := range job.list("relabel_configs") {
		r := s.rule(item)
		r.regex = shardOf(r.regex)
		t.rules = append(t.rules, r.key())
	}
	t.times()
	return t
}

// texts returns the items of a list.
func texts(n *node) string {
	if n.read().shape != sequence || len(n.items) == 0 {
		return ""
	}
	all := make([]string, len(n.items))
	for i, item := range n.items {
		all[i] = fmt.Sprint(item.read().plain)
	}
	return strings.Join(all, "\x00")
}

// static adds targets that are written out, each with its labels.
func (t *targets) static(groups []*node) {
	var all []string
	for _, g := range groups {
		labels := "{}"
		if l := g.get("labels"); l != nil {
			labels = fingerprint(l)
		}
		for _, address := range g.list("targets") {
			all = append(all, fingerprint(address)+labels)
		}
	}
	if len(all) > 0 {
		t.settings["static_configs"] = strings.Join(all, "\n")
	}
}

// shardOf returns the agent's expression for what differs between shards in the place of Alloy's.
func shardOf(regex string) string {
	rest, is := strings.CutPrefix(regex, `coalesce(sys.env("`)
	name, rest, found := strings.Cut(rest, `"), ".*")`)
	if !is || !found {
		return regex
	}
	if rest, is = strings.CutPrefix(rest, " + "); is {
		rest, _ = strconv.Unquote(rest)
	}
	return "$(" + name + ")" + rest
}

// times writes the times in one spelling. A timeout that is not set is 10 seconds, but no longer than the interval.
func (t *targets) times() {
	every, err := prommodel.ParseDuration(t.settings["scrape_interval"])
	if err != nil {
		return
	}
	limit, err := prommodel.ParseDuration(t.settings["scrape_timeout"])
	if err != nil {
		limit = min(every, prommodel.Duration(10*time.Second))
	}
	t.settings["scrape_interval"], t.settings["scrape_timeout"] = every.String(), min(every, limit).String()
}
