package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/forge"
)

// state is the state of a pipeline, in one word.
type state struct {
	Key, Word string
	Class     string // of the style
}

// states are all states, those that need attention first.
func states() []state {
	return []state{
		{"stalled", "Stalled", "bad"}, {"failing", "Not ready", "bad"}, {"waiting", "Waiting", "warn"},
		{"suspended", "Suspended", "pale"}, {"elsewhere", "Elsewhere", "pale"}, {"ready", "Ready", "good"},
	}
}

// row is a pipeline.
type row struct {
	fleet.Status
	State state
	// Why is the problem, or the reason for waiting.
	Why   string
	links links
	rank  int // of the state
	// Cause is the number of the cause that is shown for several pipelines; 0: the row has its own.
	Cause int
}

// links are the pages of a pipeline's repositories.
type links struct {
	sources []forge.Pages // in the order of the status
	output  forge.Pages
}

func linksOf(d *fleet.Definition) (out links) {
	if d == nil {
		return out
	}
	for _, s := range d.Spec.Sources {
		out.sources = append(out.sources, forge.PagesOf(s.Forge, s.URL))
	}
	o := &d.Spec.Output
	f := o.Forge
	for _, s := range d.Spec.Sources {
		if f == nil && s.Forge != nil && pipeline.SameRepository(s.URL, o.URL) {
			f = s.Forge
		}
	}
	out.output = forge.PagesOf(f, o.URL)
	return out
}

func newRow(s fleet.Status, d *fleet.Definition) row {
	r := row{Status: s, links: linksOf(d)}
	key, why := condense(&s)
	for i, st := range states() {
		if st.Key == key {
			r.State, r.rank = st, i
		}
	}
	r.Why = why
	return r
}

// condense returns the state of a pipeline, and why it is not ready.
func condense(s *fleet.Status) (key, why string) {
	ready, stalled := s.Condition(meta.ReadyCondition), s.Condition(meta.StalledCondition)
	switch {
	case s.Suspended:
		return "suspended", ""
	case !s.Owned:
		return "elsewhere", "another replica makes the passes, or no replica does yet"
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		return "stalled", cmp.Or(stalled.Message, stalled.Reason)
	case ready == nil:
		return "waiting", ""
	case ready.Status == metav1.ConditionTrue:
		return "ready", ""
	case ready.Status == metav1.ConditionFalse && ready.Reason != meta.DependencyNotReadyReason:
		return "failing", cmp.Or(ready.Message, ready.Reason)
	}
	return "waiting", cmp.Or(ready.Message, ready.Reason)
}

// Summary returns Why without the error that is the first of the findings, or nothing if Why names none.
func (r row) Summary() string {
	summary, _, isCut := strings.Cut(r.Why, "; first: ")
	if !isCut || len(r.Findings.First) == 0 {
		return ""
	}
	return summary
}

// Brief returns Why for a list, which says beside it how much is held: the first error, without its place.
func (r row) Brief() string {
	if r.Summary() == "" {
		return r.Why
	}
	first := r.Findings.First[0]
	return strings.TrimPrefix(first.Object.String()+": "+first.Advice(), ": ")
}

// Bad reports whether something is wrong.
func (r row) Bad() bool { return r.State.Class == "bad" }

// Link returns the address of the pipeline's page.
func (r row) Link() string { return pipelineLink(r.Name) }

func pipelineLink(name string) string { return "/pipelines/" + url.PathEscape(name) }

// SourcePage returns the page of the commit of a source at its forge.
func (r row) SourcePage(i int) string {
	if i >= len(r.links.sources) || i >= len(r.Sources) {
		return ""
	}
	return r.links.sources[i].Commit(r.Sources[i].Commit)
}

// OutputPage returns the page of the output commit at its forge.
func (r row) OutputPage() string {
	if r.Output == nil {
		return ""
	}
	return r.links.output.Commit(r.Output.Commit)
}

// FilePage returns the page of the file that a finding is about, at the commit that was read.
func (r row) FilePage(f diag.Diagnostic) string {
	if i, file := r.locate(f); i >= 0 {
		return r.links.sources[i].File(r.Sources[i].Commit, file, f.Line)
	}
	return ""
}

// ChangePage returns the page of the commit that last changed what a finding is about.
func (r row) ChangePage(f diag.Diagnostic) string {
	if i, _ := r.locate(f); i >= 0 && f.Changed != nil {
		return r.links.sources[i].Commit(f.Changed.Commit)
	}
	return ""
}

// locate returns the index of the source that a finding's file is in, or -1 if its pages are not known, and the file's
// name there.
func (r row) locate(f diag.Diagnostic) (i int, file string) {
	return gitsync.Locate(r.Sources[:min(len(r.Sources), len(r.links.sources))], f.Source, f.File)
}

// HeldCount returns how many objects and whole units are held or left out.
func (r row) HeldCount() int { return len(r.Held) + len(r.HeldUnits()) }

// HeldUnits returns the units that are held or left out as a whole.
func (r row) HeldUnits() []fleet.UnitStatus {
	var out []fleet.UnitStatus
	for _, u := range r.Units {
		if u.IsWithheld() {
			out = append(out, u)
		}
	}
	return out
}

// Repository returns the first source, by which rows are grouped.
func (r row) Repository() string {
	if len(r.Sources) == 0 {
		return ""
	}
	return r.Sources[0].URL
}

// wrong returns the findings, and why objects are held.
func (r row) wrong() diag.List {
	out := slices.Clone(r.Findings.First)
	for _, h := range r.Held {
		out = append(out, h.Reason)
	}
	return out
}

// text returns the text that a search looks in.
func (r row) text() string {
	words := []string{r.Name, r.State.Word, r.Why, r.Origin, r.ForEach}
	for _, c := range r.Conditions {
		words = append(words, c.Reason)
	}
	for _, s := range r.Sources {
		words = append(words, s.URL, s.Ref, s.Commit)
	}
	if o := r.Output; o != nil {
		words = append(words, o.URL, o.Branch, o.Path, o.Commit)
	}
	for _, d := range r.wrong() {
		words = append(words, d.Owners...)
		if d.Changed != nil {
			words = append(words, d.Changed.Author, d.Changed.Commit)
		}
	}
	return strings.ToLower(strings.Join(words, " "))
}
