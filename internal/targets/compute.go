package targets

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Report has the targets of jobs in a cluster.
type Report struct {
	Jobs []*Job `json:"jobs"`
	// Duplicates are the jobs of one GrafanaAgent that scrape the same.
	Duplicates []Duplicate `json:"duplicates,omitempty"`
	// UnknownUnits are GrafanaAgents whose jobs are not known: they are paused, or held.
	UnknownUnits []string `json:"unknownUnits,omitempty"`
	// Unread are the resources that could not be read: jobs that need them are not complete.
	Unread []Unread `json:"unread,omitempty"`
}

// Job is a scrape job with its targets.
type Job struct {
	// Pipeline is the pipeline, where there are several.
	Pipeline string `json:"pipeline,omitempty"`
	Unit     string `json:"unit"`
	Instance string `json:"instance"`
	Name     string `json:"name"`
	// Object and From are the object and the field that the job comes from.
	Object    string         `json:"object"`
	From      explain.Field  `json:"from"`
	Discovery []explain.Part `json:"discovery,omitempty"`
	// Discovered, Kept and Dropped count targets. Equal counts those that are the same as another one of the job.
	Discovered int `json:"discovered"`
	Kept       int `json:"kept"`
	Dropped    int `json:"dropped"`
	Equal      int `json:"equal,omitempty"`
	// Shards is how many shards share the targets; 0: none do, by rules.
	Shards int `json:"shards,omitempty"`
	// Targets are those that are kept, or the first of them.
	Targets []Target `json:"targets,omitempty"`
	// Drops are the rules that drop the others.
	Drops []Drop `json:"drops,omitempty"`
	// Why says why there is no target.
	Why string `json:"why,omitempty"`
	// NotComputed are discoveries whose targets are not known, and Incomplete what could not be read.
	NotComputed []string `json:"notComputed,omitempty"`
	Incomplete  []string `json:"incomplete,omitempty"`

	scraped []scraped
}

// scraped is a target of a job, by hashes of its URL and of its labels.
type scraped struct{ url, labels uint64 }

// Target is a target that is scraped. Credentials are hidden in it.
type Target struct {
	URL    string            `json:"url"`
	Labels map[string]string `json:"labels"`
	// Of is the Service, Pod, Ingress or Node. A target of a list has none.
	Of string `json:"of,omitempty"`
	// Shards are those that scrape it, if shards share the targets.
	Shards []int `json:"shards,omitempty"`
}

// Drop is a rule with the targets that it drops.
type Drop struct {
	Count int `json:"count"`
	// Text says what such a target lacks.
	Text string `json:"text"`
	// Rule counts the job's rules from 1: the one that drops the target, or that gives it a label with which it cannot
	// be scraped. 0 means that it cannot be scraped as it was found.
	Rule int `json:"rule,omitempty"`
	// Words are the rule in words, and From is the field that its author wrote; nil if agentry adds it.
	Words string         `json:"words,omitempty"`
	From  *explain.Field `json:"from,omitempty"`
	// Examples are some of the targets.
	Examples []Example `json:"examples"`

	key dropKey
	of  map[manifest.ID]int // how many of each object
}

// dropKey identifies what drops targets. It is ordered by index: first the rules that drop, then those that made what
// cannot be scraped.
type dropKey struct {
	index int
	why   string // what cannot be scraped
}

// Example is a target that is dropped.
type Example struct {
	Address string `json:"address,omitempty"`
	Of      string `json:"of,omitempty"`
}

// Duplicate is a group of jobs of a GrafanaAgent that scrape the same targets.
type Duplicate struct {
	Unit string   `json:"unit"`
	Jobs []string `json:"jobs"`
	// Targets counts the addresses that all of them scrape, and no other job does. SameLabels counts those at which
	// two jobs of one instance have equal labels too, so that their samples collide.
	Targets    int `json:"targets"`
	SameLabels int `json:"sameLabels,omitempty"`

	of []int // the jobs, by their places in the report
}

const (
	// maxListed limits the targets of a job that are listed. All are counted.
	maxListed = 10_000
	// maxExamples limits the dropped targets of a rule that are listed.
	maxExamples = 5
)

// Compute returns the targets of jobs in a cluster.
func Compute(ctx context.Context, c *Cluster, jobs []explain.ScrapeJob) (*Report, error) {
	out := &Report{Jobs: []*Job{}, Unread: c.Unread}
	r := rules{}
	for i := range jobs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		job, err := c.job(r, readJob(&jobs[i]))
		if err != nil {
			return nil, err
		}
		out.Jobs = append(out.Jobs, job)
	}
	out.Duplicates = duplicates(out.Jobs)
	return out, nil
}

// job computes the targets of a job.
func (c *Cluster) job(r rules, j *job) (*Job, error) {
	out := &Job{Pipeline: j.RenderedBy, Unit: j.Unit, Instance: j.Instance.String(), Name: j.Name,
		Object: j.Object.String(), From: j.From, Discovery: j.Way.Discovery, NotComputed: j.others}
	if len(j.sharing) > 1 {
		out.Shards = len(j.sharing)
	}
	lb, isThere := labels.NewBuilder(labels.EmptyLabels()), map[scraped]bool{}
	for _, of := range c.targets(j) {
		o, err := r.relabel(j, lb, of)
		if err != nil {
			return nil, err
		}
		out.Discovered++
		if o.url == nil {
			out.drop(j, o, of)
			continue
		}
		all := o.url.String()
		t := scraped{url: hashOf(all), labels: o.labels.Hash()}
		if isThere[t] {
			out.Equal++
			continue
		}
		isThere[t], out.scraped = true, append(out.scraped, t)
		if out.Kept++; out.Kept <= maxListed {
			out.keep(o, of)
		}
	}
	for _, d := range j.discoveries {
		for _, resource := range resourcesOf(d.role, d.attachesNode) {
			if why := c.unknown(resource, where(resource, d)); why != "" && !slices.Contains(out.Incomplete, why) {
				out.Incomplete = append(out.Incomplete, why)
			}
		}
	}
	slices.SortFunc(out.Drops, func(a, b Drop) int {
		return cmp.Or(a.key.index-b.key.index, strings.Compare(a.key.why, b.key.why))
	})
	if out.Kept == 0 {
		out.Why = c.why(r, j, out)
	}
	for i := range out.Drops {
		out.Drops[i].of = nil // many, and needed only for the reason
	}
	return out, nil
}

func where(resource string, d *discovery) []string {
	if resource == "nodes" {
		return nil
	}
	return d.namespaces
}

// targets returns what the discoveries of a job find.
func (c *Cluster) targets(j *job) (out []found) {
	for _, d := range j.discoveries {
		out = append(out, c.discover(d)...)
	}
	for _, w := range j.written {
		for _, address := range w.targets {
			of := set{}
			maps.Copy(of, w.labels)
			of["__address__"] = address
			out = append(out, found{labels: of.sorted()})
		}
	}
	return out
}

func (out *Job) keep(o outcome, of found) {
	t := Target{URL: shown(*o.url), Labels: map[string]string{}, Of: named(of.of)}
	o.labels.Range(func(l labels.Label) { t.Labels[l.Name] = explain.Shown(l.Name, l.Value) })
	if out.Shards > 0 {
		t.Shards = o.shards
	}
	out.Targets = append(out.Targets, t)
}

// shown returns a URL without credentials.
func shown(u url.URL) string {
	params := u.Query()
	for name, values := range params {
		for i := range values {
			values[i] = explain.Shown(name, values[i])
		}
	}
	u.RawQuery = params.Encode()
	return u.String()
}

func named(id manifest.ID) string {
	if id.Kind == "" {
		return ""
	}
	return id.String()
}

func (out *Job) drop(j *job, o outcome, of found) {
	out.Dropped++
	key := dropKey{index: o.rule}
	if o.refusal != nil {
		key = dropKey{len(j.rules) + o.rule, o.refusal.Why}
	}
	i := slices.IndexFunc(out.Drops, func(d Drop) bool { return d.key == key })
	if i < 0 {
		i = len(out.Drops)
		d := Drop{key: key, of: map[manifest.ID]int{}}
		if o.rule != noRule {
			part := j.part(o.rule)
			d.Rule, d.Words, d.From = o.rule+1, part.Text, part.From
			d.Text = lack(j.rules[o.rule], part)
		}
		if o.refusal != nil {
			d.Text = explain.Shown("", o.refusal.String())
			if d.From != nil {
				d.Text = d.From.Path + ": " + d.Text
			}
		}
		out.Drops = append(out.Drops, d)
	}
	d := &out.Drops[i]
	d.Count++
	d.of[of.of]++
	if len(d.Examples) < maxExamples {
		d.Examples = append(d.Examples, Example{explain.Shown("", of.labels.Get("__address__")), named(of.of)})
	}
}

func hashOf(text string) uint64 { return labels.FromStrings("url", text).Hash() }

// Choose leaves the jobs whose places are chosen, and what they scrape together with any other.
func (r *Report) Choose(chosen func(place int) bool) {
	jobs := []*Job{}
	for place, j := range r.Jobs {
		if chosen(place) {
			jobs = append(jobs, j)
		}
	}
	r.Jobs = jobs
	r.Duplicates = slices.DeleteFunc(r.Duplicates, func(d Duplicate) bool { return !slices.ContainsFunc(d.of, chosen) })
}

// duplicates returns the groups of jobs of each GrafanaAgent that scrape the same addresses.
func duplicates(jobs []*Job) (out []Duplicate) {
	type address struct {
		unit string
		url  uint64
	}
	type sample struct {
		address
		instance string
		labels   uint64
	}
	at, first, collides := map[address][]int{}, map[sample]int{}, map[address]bool{}
	for n, j := range jobs {
		for _, t := range j.scraped {
			key := address{j.Pipeline + "/" + j.Unit, t.url}
			if of := at[key]; len(of) == 0 || of[len(of)-1] != n {
				at[key] = append(of, n)
			}
			same := sample{key, j.Instance, t.labels}
			if other, isThere := first[same]; !isThere {
				first[same] = n
			} else if other != n {
				collides[key] = true
			}
		}
	}
	index := map[string]int{}
	for n, j := range jobs {
		for _, t := range j.scraped {
			key := address{j.Pipeline + "/" + j.Unit, t.url}
			of := at[key]
			if len(of) < 2 || of[0] != n {
				continue
			}
			delete(at, key) // a job can scrape an address several times
			group := fmt.Sprint(of)
			i, isKnown := index[group]
			if !isKnown {
				i = len(out)
				index[group] = i
				d := Duplicate{Unit: j.Unit, of: of}
				for _, place := range of {
					d.Jobs = append(d.Jobs, jobs[place].Name)
				}
				out = append(out, d)
			}
			if out[i].Targets++; collides[key] {
				out[i].SameLabels++
			}
		}
	}
	return out
}
