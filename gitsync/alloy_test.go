package gitsync_test

import (
	"strings"
	"testing"

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
	l.pipeline.Spec.Runtime = pipeline.RuntimeAlloy
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
