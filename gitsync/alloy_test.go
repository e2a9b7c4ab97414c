package gitsync_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestWhatChangesForAlloyIsToldInTheAgentsWords: a pass knows what the last one rendered, so it tells a change of a
// job. After a restart it only knows the texts on the output branch, and tells a change of components.
func TestWhatChangesForAlloyIsToldInTheAgentsWords(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Runtime = pipeline.RuntimeAlloy
	l.pipeline.Spec.Output.Commit.Message = "Render\n\n{{ .Difference }}"
	l.input(twoTeams())
	s := l.syncer()
	l.passOf(s)
	for _, c := range []struct {
		port, want, not string
		restart         bool
	}{
		{"admin", "job serviceMonitor/a/web/0", "component", false},
		{"https", "job serviceMonitor/a/web/0", "component", false},
		{"other", "component discovery.relabel.serviceMonitor__a__web__0", "job serviceMonitor/a/web/0", true},
	} {
		if c.restart {
			s = l.syncer()
		}
		l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", c.port)})
		if report := l.passOf(s); report.Commit == "" {
			t.Fatal("no commit")
		}
		if got := l.remote.head("env").Message; !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("port %s, after a restart %t:\n%s", c.port, c.restart, got)
		}
	}
}
