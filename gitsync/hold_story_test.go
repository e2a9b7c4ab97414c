package gitsync_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

type unitStates = map[string]plan.UnitState

// step is an input commit and what comes of it.
type step struct {
	edit map[string]string // as [lab.input] takes it
	do   func(l *lab)      // before that
	// like are the files that the branch looks as if it were rendered from, where these are not
	// what the input has.
	like map[string]string
	// wrong are the codes of all errors, sorted, with spaces between.
	wrong string
	// held is what the report says of it: object, units, and the inputs by number, from 1 for
	// the one before the first step.
	held []string
}

// tell makes the steps on two teams that are rendered well. After each of them a replica that
// knows nothing makes the same commit.
func runSteps(t *testing.T, l *lab, steps ...step) {
	t.Helper()
	l.pipeline.Spec.Limits.Deletions = "100%"
	if len(l.files) == 0 {
		maps.Copy(l.files, twoTeams())
	}
	l.input(nil)
	s := l.syncer()
	l.passOf(s)
	for i, step := range steps {
		if step.do != nil {
			step.do(l)
		}
		l.input(step.edit)
		fork := l.remote.fork()
		report := l.passOf(s)
		what := fmt.Sprintf("step %d: ", i+1)
		if diff := cmp.Diff(l.rendering(step.like), l.unitFiles(), cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("%sthe branch (-want +got):\n%s%v", what, diff, report.Diags)
		}
		if diff := cmp.Diff(step.held, l.held(report)); diff != "" {
			t.Errorf("%sheld (-want +got):\n%s%v", what, diff, report.Diags)
		}
		if errors := slices.Sorted(slices.Values(codes(report, diag.Error))); strings.Join(errors, " ") != step.wrong {
			t.Errorf("%sthe errors are %v, want %s", what, report.Diags, step.wrong)
		}
		l.replica(fork, what, report)
	}
}

// rendering is what the input renders to, with files in place of those that it has.
func (l *lab) rendering(like map[string]string) tree {
	files := maps.Clone(l.files)
	for name, text := range like {
		files[name] = text
	}
	var results []manifest.Result
	for name, text := range files {
		if strings.HasPrefix(name, "in/") {
			results = append(results, manifest.Parse(manifest.File{Path: name, Data: []byte(text)}, manifest.Options{}))
		}
	}
	out := tree{}
	for _, u := range generator.Render(manifest.NewSet(results...),
		generator.Options{Secrets: l.pipeline.Spec.Secrets.Policy}, nil).Units {
		for _, f := range u.Files {
			out[u.Name+"/"+f.Path] = entry{text: string(f.Data)}
		}
	}
	return out
}

// unitFiles are the files of all units on the branch, without those about them.
func (l *lab) unitFiles() tree {
	out := l.remote.read("env")
	for name := range out {
		if strings.Contains(name, ".agentry/") || strings.HasSuffix(name, "hydrator.metadata") ||
			strings.HasSuffix(name, "README.md") || strings.Count(name, "/") < 2 {
			delete(out, name)
		}
	}
	return out
}

// held tells what is held in a line each.
func (l *lab) held(report *gitsync.Report) []string {
	var out []string
	for _, h := range report.Held {
		as := "no version"
		if h.As.Commit != "" {
			as = fmt.Sprint("version ", l.number(h.As.Commit))
		}
		out = append(out, fmt.Sprintf("%s in %s: %s since %d", h, strings.Join(h.Units, " "), as,
			l.number(h.Since.Commit)))
	}
	return out
}

// number counts input commits from 1.
func (l *lab) number(commit string) int {
	return 1 + slices.IndexFunc(l.inputs, func(id string) bool { return id == commit })
}

// replica makes the pass again with an empty cache, on the branch as it was before.
func (l *lab) replica(fork *remote, what string, report *gitsync.Report) {
	l.t.Helper()
	other := *l
	other.options.CacheDir = l.t.TempDir()
	l.remote.host.serve(fork)
	defer l.remote.host.serve(l.remote)
	again := other.pass()
	if again.Commit != report.Commit {
		l.t.Errorf("%sa replica makes commit %q, not %q", what, again.Commit, report.Commit)
	}
	if diff := cmp.Diff(l.held(report), l.held(again)); diff != "" {
		l.t.Errorf("%sa replica holds (-first +replica):\n%s", what, diff)
	}
}

// elsewhere lets the other team change, so that there is a commit.
func elsewhere(round int, more ...string) map[string]string {
	out := map[string]string{"in/b/web.yaml": monitor("b", "web", fmt.Sprint("b", round))}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}
