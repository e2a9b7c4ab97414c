package gitsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// other is the rig's pipeline with another specification, which renders something else.
func (r *rig) other(edit func(*pipeline.Pipeline)) *rig {
	other := *r
	other.options.CacheDir = r.t.TempDir()
	edit(&other.pipeline)
	return &other
}

func narrower(p *pipeline.Pipeline) {
	p.Spec.Sources = slices.Clone(p.Spec.Sources)
	p.Spec.Sources[0].Paths = []string{"in/a"}
}

// writes makes a pass, and checks whether it writes or is refused because somebody else writes too.
func (r *rig) writes(what string, s *gitsync.Syncer, want bool) {
	r.t.Helper()
	before := r.out("for-each-ref", "refs/heads/env")
	report := r.passOf(s)
	after := r.out("for-each-ref", "refs/heads/env")
	if wrote := after != before; wrote != want || want != (report.Commit != "") {
		r.t.Errorf("%s: wrote %v (%q), want %v: %v", what, wrote, report.Commit, want, report.Diags)
	}
	if refused := report.Refused != nil && report.Refused.Code == diag.OutputContested; refused == want {
		r.t.Errorf("%s: refused by %v", what, report.Refused)
	}
}

func TestTwoServicesDoNotFight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("start", twoTeams())
	first, second := r.syncer(), r.other(narrower).syncer()
	r.writes("the first", first, true)
	r.writes("the second, which has just started", second, true)
	for range 2 {
		r.writes("the first, which was replaced", first, false)
	}
	if report := r.passOf(second); report.Refused != nil || report.Commit != "" {
		t.Errorf("the second has nothing to do: %v, %s", report.Refused, report.Commit)
	}
	first.Forget()
	r.writes("the first, without its caches", first, false)

	r.commit("edit", map[string]string{"in/a/web.yaml": monitor("a", "web", "metrics")})
	r.writes("the first, with new inputs", first, true)
	r.writes("the second, with the same inputs", second, false)

	r.git("fetch", "-q", "origin", "env")
	r.git("push", "-q", "-f", "origin", "FETCH_HEAD~2:env")
	r.writes("after somebody set the branch back to what the first had replaced", first, true)
}

func TestAnEditedPipelineGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("start", twoTeams())
	edited := r.other(narrower)
	for i, s := range []*gitsync.Syncer{r.syncer(), edited.syncer(), r.syncer()} {
		r.writes("edit "+strings.Repeat("I", i), s, true)
	}
}

func TestTwoJobsThatTakeTurnsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("start", twoTeams())
	other := r.other(narrower)
	for range 2 {
		r.writes("a job", r.syncer(), true)
		r.writes("the other job", other.syncer(), true)
	}
	r.writes("the fifth job", r.syncer(), false)
	adopting := r.other(func(p *pipeline.Pipeline) { p.Spec.Output.Adopt = true })
	r.writes("a job that adopts", adopting.syncer(), true)

	r.commit("edit", map[string]string{"in/a/web.yaml": monitor("a", "web", "metrics")})
	r.writes("with new inputs", other.syncer(), true)
}

func TestPipelinesThatShareABranchDoNotFight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("start", twoTeams())
	r.pipeline.Spec.Output.Path = "one"
	narrow := r.other(narrower)
	second := r.other(func(p *pipeline.Pipeline) { p.Metadata.Name, p.Spec.Output.Path = "second", "two" }).syncer()
	first := r.syncer()
	r.writes("the first", first, true)
	r.writes("the second", second, true)
	for i, port := range []string{"metrics", "m", "web"} {
		r.commit("edit", map[string]string{"in/a/web.yaml": monitor("a", "web", port)})
		r.writes("the second, with new inputs", second, true)
		r.writes("the first, with new inputs", first, true)
		if i == 1 {
			r.writes("a contest of the first", narrow.syncer(), true)
			r.writes("the first, which was replaced", first, false)
		}
	}
}

func TestTwoVersionsDoNotFight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("start", twoTeams())
	newer := r.other(narrower) // as a newer version would render
	newer.options.Version = "v0.0.1-test"
	old := r.syncer()
	r.writes("the old version", old, true)
	r.writes("the new version", newer.syncer(), true)
	r.writes("the old version, after the new one", old, false)
}

func TestTheBranchOfAnotherPipelineIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("start", twoTeams())
	r.writes("the first", r.syncer(), true)
	renamed := r.other(func(p *pipeline.Pipeline) { p.Metadata.Name = "second"; narrower(p) })
	r.writes("another name", renamed.syncer(), false)
	renamed.pipeline.Spec.Output.Adopt = true
	r.writes("another name that adopts", renamed.syncer(), true)
	r.writes("the first", r.syncer(), false)
}
