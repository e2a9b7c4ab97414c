package gitsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// other is the lab's pipeline with another specification, which renders something else.
func (l *lab) other(edit func(*pipeline.Pipeline)) *lab {
	other := *l
	other.options.CacheDir = l.t.TempDir()
	edit(&other.pipeline)
	return &other
}

func narrower(p *pipeline.Pipeline) {
	p.Spec.Sources = slices.Clone(p.Spec.Sources)
	p.Spec.Sources[0].Paths = []string{"in/a"}
}

// writes makes a pass, and checks whether it writes or is refused because somebody else writes too.
func (l *lab) writes(what string, s *gitsync.Syncer, want bool) {
	l.t.Helper()
	before := l.remote.tip("env")
	report := l.passOf(s)
	after := l.remote.tip("env")
	if wrote := after != before; wrote != want || want != (report.Commit != "") {
		l.t.Errorf("%s: wrote %v (%q), want %v: %v", what, wrote, report.Commit, want, report.Diags)
	}
	if refused := report.Refused != nil && report.Refused.Code == diag.OutputContested; refused == want {
		l.t.Errorf("%s: refused by %v", what, report.Refused)
	}
}

func TestTwoServicesDoNotFight(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	first, second := l.syncer(), l.other(narrower).syncer()
	l.writes("the first", first, true)
	replaced := l.remote.tip("env")
	l.writes("the second, which has just started", second, true)
	for range 2 {
		l.writes("the first, which was replaced", first, false)
	}
	if report := l.passOf(second); report.Refused != nil || report.Commit != "" {
		t.Errorf("the second has nothing to do: %v, %s", report.Refused, report.Commit)
	}
	first.Forget()
	l.writes("the first, without its caches", first, false)

	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "metrics")})
	l.writes("the first, with new inputs", first, true)
	l.writes("the second, with the same inputs", second, false)

	l.remote.refs["refs/heads/env"] = replaced
	l.writes("after somebody set the branch back to what the first had replaced", first, true)
}

func TestAnEditedPipelineGoesOn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	edited := l.other(narrower)
	for i, s := range []*gitsync.Syncer{l.syncer(), edited.syncer(), l.syncer()} {
		l.writes("edit "+strings.Repeat("I", i), s, true)
	}
}

func TestTwoJobsThatTakeTurnsAreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	other := l.other(narrower)
	for range 2 {
		l.writes("a job", l.syncer(), true)
		l.writes("the other job", other.syncer(), true)
	}
	l.writes("the fifth job", l.syncer(), false)
	adopting := l.other(func(p *pipeline.Pipeline) { p.Spec.Output.Adopt = true })
	l.writes("a job that adopts", adopting.syncer(), true)

	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "metrics")})
	l.writes("with new inputs", other.syncer(), true)
}

func TestPipelinesThatShareABranchDoNotFight(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	l.pipeline.Spec.Output.Path = "one"
	narrow := l.other(narrower)
	second := l.other(func(p *pipeline.Pipeline) { p.Metadata.Name, p.Spec.Output.Path = "second", "two" }).syncer()
	first := l.syncer()
	l.writes("the first", first, true)
	l.writes("the second", second, true)
	for i, port := range []string{"metrics", "m", "web"} {
		l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", port)})
		l.writes("the second, with new inputs", second, true)
		l.writes("the first, with new inputs", first, true)
		if i == 1 {
			l.writes("a contest of the first", narrow.syncer(), true)
			l.writes("the first, which was replaced", first, false)
		}
	}
}

func TestTwoVersionsDoNotFight(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	newer := l.other(narrower) // as a newer version would render
	newer.options.Version = "v0.0.1-test"
	old := l.syncer()
	l.writes("the old version", old, true)
	l.writes("the new version", newer.syncer(), true)
	l.writes("the old version, after the new one", old, false)
}

func TestTheBranchOfAnotherPipelineIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	l.writes("the first", l.syncer(), true)
	renamed := l.other(func(p *pipeline.Pipeline) { p.Metadata.Name = "second"; narrower(p) })
	l.writes("another name", renamed.syncer(), false)
	renamed.pipeline.Spec.Output.Adopt = true
	l.writes("another name that adopts", renamed.syncer(), true)
	l.writes("the first", l.syncer(), false)
}
