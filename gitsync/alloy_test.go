package gitsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestWhatChangesForAlloyIsToldInTheAgentsWords: a pass tells a change of a job, because it knows what the last one
// rendered, or renders once more what the branch has. Where that gives another text, as after a change of the pipeline,
// it only knows the texts, and tells a change of components.
func TestWhatChangesForAlloyIsToldInTheAgentsWords(t *testing.T) {
	t.Parallel()
	const job, component = "job serviceMonitor/a/web/0", "component discovery.relabel.serviceMonitor__a__web__0"
	l := newLab(t)
	l.pipeline.Spec.Compatibility, l.pipeline.Spec.Runtime = manifest.Operator, pipeline.RuntimeAlloy
	l.pipeline.Spec.Output.Commit.Message = "Render\n\n{{ .Difference }}"
	l.input(twoTeams())
	s := l.syncer()
	l.passOf(s)
	for _, c := range []struct {
		port      string
		mode      manifest.Compatibility
		want, not string
		restart   bool
		broken    string // the interval of another monitor, which is held
	}{
		{"admin", manifest.Operator, job, component, false, ""},
		{"https", manifest.Operator, job, component, false, ""},
		{"other", manifest.Operator, job, component, true, ""},
		{"third", manifest.Current, component, job, true, ""},
		{"fourth", manifest.Current, job, component, true, ""},
		{"fifth", manifest.Current, job, component, true, "1 minute"},
	} {
		if l.pipeline.Spec.Compatibility = c.mode; c.restart {
			s = l.syncer()
		}
		files := map[string]string{"in/a/web.yaml": monitor("a", "web", c.port)}
		if c.broken != "" {
			files["in/b/web.yaml"] = strings.Replace(monitor("b", "web", "http"), "{port:",
				"{interval: "+c.broken+", port:", 1)
		}
		l.input(files)
		if report := l.passOf(s); report.Commit == "" {
			t.Fatalf("%s: no commit: %v, %v", c.port, report.Refused, report.Diags)
		}
		if got := l.remote.head("env").Message; !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("port %s, after a restart %t:\n%s", c.port, c.restart, got)
		}
	}
}

// TestAChangeForAlloyNeedsNoOldCommit: what the branch has is only rendered once more for better words, so a remote
// that has lost its old commit and then fails is in nobody's way.
func TestAChangeForAlloyNeedsNoOldCommit(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Output.URL = l.remote.host.add("out").url
	l.pipeline.Spec.Runtime = pipeline.RuntimeAlloy
	l.input(twoTeams())
	l.pass()
	l.forget()
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "admin")})
	l.options.CacheDir = t.TempDir()
	requests := 0
	l.remote.broken = func() bool { requests++; return requests > 2 } // once it is fetched
	if _, err := l.syncer().Pass(t.Context()); err != nil {
		t.Error(err)
	}
	if requests < 3 {
		t.Errorf("only %d requests: the old commit was not asked for", requests)
	}
}

// TestAGrafanaAgentMovesAlone: an annotation moves a GrafanaAgent to Alloy and back. The commit says what that means,
// no other unit changes, and what is wrong with the annotation is held.
func TestAGrafanaAgentMovesAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Output.Commit.Message = "Render\n\n{{ .Difference }}"
	l.input(twoTeams())
	s := l.syncer()
	l.passOf(s)
	choose := func(annotation string) {
		l.input(map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"), "namespace: a}",
			"namespace: a, annotations: {agentry.dev/runtime: "+annotation+"}}", 1)})
	}
	first, other := l.payload("a"), l.payload("b")
	expect := func(name, settings string) {
		t.Helper()
		message := l.remote.head("env").Message
		for _, want := range []string{"- StatefulSet a/agent: metadata.labels", "- StatefulSet a/agent: " + name,
			"- instance a/main: samples that are not sent when a pod stops", "- instance a/main: 1 of 1 jobs", settings} {
			if !strings.Contains(message, want) {
				t.Errorf("the commit does not tell of %q:\n%s", want, message)
			}
		}
		if diff := cmp.Diff(other, l.payload("b")); diff != "" {
			t.Errorf("the other unit changes:\n%s", diff)
		}
	}

	choose("alloy")
	l.passOf(s)
	expect("agent_ → alloy_", "settings that the program lacks, or handles differently:\n- in/a/agent.yaml:5:")
	moved := l.payload("a")
	if len(moved) != len(first) {
		t.Errorf("there are %d manifests, before there were %d", len(moved), len(first))
	}

	for name, hold := range map[string]func(){
		"a typo":            func() { choose("aloy") },
		"it is not allowed": func() { choose("alloy"); l.pipeline.Spec.Runtimes.Allowed = []pipeline.Runtime{"agent"} },
	} {
		hold()
		report := l.pass()
		l.pipeline.Spec.Runtimes.Allowed = nil
		if diff := cmp.Diff(moved, l.payload("a")); diff != "" || report.Diags.Count(diag.Error) == 0 {
			t.Errorf("%s: %v\n%s", name, report.Diags, diff)
		}
	}

	l.input(map[string]string{"in/a/agent.yaml": agent("a")})
	l.passOf(s)
	expect("alloy_ → agent_", "")
	if diff := cmp.Diff(first, l.payload("a")); diff != "" {
		t.Errorf("it is not back:\n%s", diff)
	}
}
