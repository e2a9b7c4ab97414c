package gitsync_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
)

// TestNoGrafanaAgentIsAMistake has inputs without a GrafanaAgent at a first run, and after a single one.
func TestNoGrafanaAgentIsAMistake(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	refused := func() {
		t.Helper()
		if report := l.pass(); report.Commit != "" || report.Refused == nil || report.Refused.Code != diag.NoAgent || report.Ready().Status != "False" {
			t.Errorf("commit %q, refused %v, %v", report.Commit, report.Refused, report.Diags)
		}
	}
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "http")})
	refused()
	l.input(map[string]string{agentA: agent("a")})
	l.pass()
	_, instance, _ := strings.Cut(agent("a"), "---\n")
	l.input(map[string]string{agentA: instance})
	refused()
	l.pipeline.Spec.Limits.AllowEmpty = true
	if report := l.pass(); report.Commit == "" {
		t.Errorf("limits.allowEmpty does not allow it: %v", report.Diags)
	}
	l.pipeline.Spec.Limits.AllowEmpty = false
	if report := l.pass(); report.Refused != nil {
		t.Errorf("nothing is left that could be lost: %v", report.Diags)
	}
}
