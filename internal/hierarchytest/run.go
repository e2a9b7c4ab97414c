package hierarchytest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Result is the result of one case.
type Result struct {
	// Pipeline is set if there are several.
	Pipeline string `json:"pipeline,omitempty"`

	Test string `json:"test"`
	Case string `json:"case"`
	File string `json:"file"`
	Line int    `json:"line"`
	// Problems are empty if the case passes.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is a difference from what a case expects.
type Problem struct {
	About string `json:"about"`
	// Expected and Found are the lines that only one of the two has.
	Expected []string `json:"expected,omitempty"`
	Found    []string `json:"found,omitempty"`
}

// Run compares tests with a render for the runtime agent. The results have the order of the tests.
func Run(tests []Test, set *manifest.Set, out *generator.Output) ([]Result, error) {
	configs, err := configurations(out.Units)
	if err != nil {
		return nil, err
	}
	r := runner{set: set, by: selections(out), leftOut: leftOut(set, out), configs: configs}
	results := []Result{} // not nil: no cases means that none fails
	for _, t := range tests {
		for _, s := range t.Spec.Selected {
			results = append(results, Result{Test: t.Metadata.Name, Case: cmp.Or(s.Name, s.Object), File: t.File,
				Line: s.Line, Problems: r.selected(s)})
		}
		for _, target := range t.Spec.Targets {
			result := Result{Test: t.Metadata.Name, Case: cmp.Or(target.Name, target.Job), File: t.File,
				Line: target.Line}
			if result.Problems, err = r.target(target); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", t.File, target.Line, err)
			}
			results = append(results, result)
		}
	}
	return results, nil
}

type runner struct {
	set     *manifest.Set
	by      map[manifest.ID][]string
	leftOut map[manifest.ID]bool
	configs []configuration
}

// selections returns the objects that select each object.
func selections(out *generator.Output) map[manifest.ID][]string {
	by := map[manifest.ID][]string{}
	add := func(parent *manifest.Object, children ...*manifest.Object) {
		for _, c := range children {
			by[c.ID] = append(by[c.ID], parent.ID.String())
		}
	}
	for _, h := range out.Hierarchies {
		add(h.Agent, h.Integrations...)
		for _, m := range h.Metrics {
			add(h.Agent, m.Object)
			for _, monitors := range [...][]*manifest.Object{m.ServiceMonitors, m.PodMonitors, m.Probes,
				m.ScrapeConfigs, m.IntegrationMonitors} {
				add(m.Object, monitors...)
			}
		}
		for _, l := range h.Logs {
			add(h.Agent, l.Object)
			add(l.Object, l.PodLogs...)
		}
	}
	for id, parents := range by {
		slices.Sort(parents)
		by[id] = slices.Compact(parents)
	}
	return by
}

// leftOut returns the objects that are not rendered.
func leftOut(set *manifest.Set, out *generator.Output) map[manifest.ID]bool {
	ids := map[manifest.ID]bool{}
	for _, o := range set.LeftOut() {
		ids[o.ID] = true
	}
	for _, u := range out.Units {
		for _, h := range u.Held {
			ids[h.ID] = true
		}
	}
	return ids
}

// selected returns the differences of the render from a case.
func (r *runner) selected(s Selected) []Problem {
	id, _ := manifest.ParseID(s.Object)
	switch {
	case r.leftOut[id]:
		return []Problem{{About: s.Object + " has an error and is not rendered as it is; agentry check shows it"}}
	case r.set.Get(id) == nil:
		return []Problem{{About: fmt.Sprintf("there is no %s%s", s.Object, r.similar(s.Object))}}
	case id.Kind == v1alpha1.GrafanaAgentKind:
		return []Problem{{About: "nothing selects a GrafanaAgent"}}
	}
	expected := slices.Sorted(slices.Values(s.By))
	return compare("selected by", slices.Compact(expected), r.by[id])
}

// similar returns a suggestion for a misspelt name, as the end of a sentence.
func (r *runner) similar(name string) string {
	var names []string
	for _, o := range r.set.All() {
		names = append(names, o.ID.String())
	}
	return meant(name, names)
}

func meant(name string, names []string) string {
	if hint := diag.DidYouMean(name, names); hint != "" {
		return "; " + hint
	}
	return ""
}

// target returns the differences of the render from a case.
func (r *runner) target(t Target) ([]Problem, error) {
	c, i, j, problem := r.find(t)
	if problem != "" {
		return []Problem{{About: problem}}, nil
	}
	got, err := scrape(c, j, t.Discovered)
	switch {
	case err != nil:
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	case t.Dropped && got.why == "":
		return []Problem{{About: "the target is not dropped",
			Found: append([]string{"scraped: " + got.url}, lines(got.labels)...)}}, nil
	case t.Dropped:
		return nil, nil
	case got.why != "":
		return []Problem{{About: "the target is dropped: " + got.why}}, nil
	}
	var problems []Problem
	if t.URL != "" {
		problems = append(problems, compare("url", []string{t.URL}, []string{got.url})...)
	}
	if t.Labels != nil {
		problems = append(problems, compare("labels", lines(labels.FromMap(t.Labels)), lines(got.labels))...)
	}
	for _, s := range t.Series {
		found, err := seriesProblems(c, i, j, got, s)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", j.Name, err)
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

// find returns the job of a case, or the reason why it is not unique.
func (r *runner) find(t Target) (c *configuration, i *instance, j *job, problem string) {
	var names, places, others []string
	for a := range r.configs {
		for b := range r.configs[a].Metrics.Configs {
			for n := range r.configs[a].Metrics.Configs[b].Jobs {
				at, in := &r.configs[a], &r.configs[a].Metrics.Configs[b]
				place := "agent " + at.unit + ", instance " + in.Name
				switch {
				case in.Jobs[n].Name != t.Job:
					names = append(names, in.Jobs[n].Name)
				case t.Agent != "" && t.Agent != at.unit || t.Instance != "" && t.Instance != in.Name:
					others = append(others, place)
				default:
					c, i, j = at, in, &in.Jobs[n]
					places = append(places, place)
				}
			}
		}
	}
	switch {
	case len(places) == 1:
		return c, i, j, ""
	case len(places) > 1:
		return nil, nil, nil, fmt.Sprintf("the job %s is in several places, so set agent or instance: %s", t.Job,
			strings.Join(places, "; "))
	}
	if len(others) > 0 {
		return nil, nil, nil, fmt.Sprintf("the job %s is not there, but elsewhere: %s", t.Job,
			strings.Join(others, "; "))
	}
	return nil, nil, nil, "there is no job " + t.Job + meant(t.Job, names)
}

// seriesProblems returns the differences of one sample from a case.
func seriesProblems(c *configuration, i *instance, j *job, target scraped, s Series) ([]Problem, error) {
	sample, err := parseSeries(s.Sample)
	if err != nil {
		return nil, err
	}
	stored, why, err := store(j, target, sample)
	switch {
	case err != nil:
		return nil, err
	case s.Dropped && why == "":
		return []Problem{{About: s.Sample + " is not dropped", Found: []string{written(stored)}}}, nil
	case s.Dropped:
		return nil, nil
	case why != "":
		return []Problem{{About: s.Sample + " is dropped: " + why}}, nil
	}
	var problems []Problem
	if s.Stored != "" {
		problems = append(problems, compareSeries(s.Sample+" stored as", s.Stored, stored)...)
	}
	if s.Sent == nil {
		return problems, nil
	}
	found, err := sentProblems(c, i, target, s, stored)
	return append(problems, found...), err
}

// sentProblems returns the differences of the writers that receive a series from a case.
func sentProblems(c *configuration, i *instance, target scraped, s Series, stored labels.Labels) (problems []Problem,
	err error) {
	writers := i.RemoteWrite
	if len(writers) == 0 {
		writers = c.Metrics.Global.RemoteWrite
	}
	var unexpected []string
	got := make([]bool, len(s.Sent))
	for n := range writers {
		w := &writers[n]
		series, why, err := send(&c.Metrics.Global, w, target, stored)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(s.Sent, func(e Sent) bool { return w.is(e.To) })
		switch {
		case at < 0 && why == "":
			unexpected = append(unexpected, cmp.Or(w.Name, w.URL))
		case at < 0:
		case why != "":
			got[at] = true
			problems = append(problems, Problem{About: fmt.Sprintf("%s is not sent to %s: %s drops it", s.Sample,
				s.Sent[at].To, why)})
		default:
			got[at] = true
			if s.Sent[at].As != "" {
				problems = append(problems, compareSeries(s.Sample+" sent to "+s.Sent[at].To+" as", s.Sent[at].As,
					series)...)
			}
		}
	}
	var missing []string
	for n, e := range s.Sent {
		if !got[n] {
			missing = append(missing, e.To)
		}
	}
	if len(missing)+len(unexpected) > 0 {
		problems = append(problems, Problem{About: s.Sample + " sent to", Expected: missing, Found: unexpected})
	}
	return problems, nil
}

func compareSeries(about, expected string, found labels.Labels) []Problem {
	want, err := parseSeries(expected)
	if err != nil { // check has parsed it
		return []Problem{{About: about, Expected: []string{expected}, Found: []string{written(found)}}}
	}
	return compare(about, lines(want), lines(found))
}

// lines returns one line for each label.
func lines(of labels.Labels) []string {
	var out []string
	of.Range(func(l labels.Label) { out = append(out, fmt.Sprintf("%s: %q", l.Name, l.Value)) })
	return out
}

// compare returns a problem if two lists differ, with the lines that only one of them has.
func compare(about string, expected, found []string) []Problem {
	without := func(list, other []string) (out []string) {
		for _, line := range list {
			if !slices.Contains(other, line) {
				out = append(out, line)
			}
		}
		return out
	}
	p := Problem{About: about, Expected: without(expected, found), Found: without(found, expected)}
	if len(p.Expected)+len(p.Found) == 0 {
		return nil
	}
	return []Problem{p}
}
