package gitsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
)

// TestNoGrafanaAgentIsAMistake has inputs without a GrafanaAgent at a first pass, and after a single one.
func TestNoGrafanaAgentIsAMistake(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	refused := func() {
		t.Helper()
		if report := l.pass(); report.Commit != "" || report.Refused == nil || report.Refused.Code != diag.NoAgent ||
			report.Ready().Status != "False" {
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

// TestAPathWithoutAManifestDeletesNothing empties one of two folders, so that only a README is left in it.
func TestAPathWithoutAManifestDeletesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Sources[0].Paths = []string{"in", "more"}
	l.input(map[string]string{agentA: agent("a"), "in/a/web.yaml": monitor("a", "web", "http"),
		"more/README.md": "Monitors go here.\n"})
	if report := l.pass(); !slices.Equal(codes(report, diag.Error), []string{"empty-input"}) {
		t.Errorf("at a first pass: %v", report.Diags)
	}
	l.input(map[string]string{"more/db.yaml": monitor("a", "db", "http")})
	l.pass()
	l.input(map[string]string{"more/db.yaml": "", "in/a/web.yaml": monitor("a", "web", "metrics")})
	report := l.pass()
	if text := l.remote.read("env")["a/agent/agent-config.secret.yaml"].text; report.Commit == "" ||
		!strings.Contains(text, "serviceMonitor/a/db") || !strings.Contains(text, "metrics") {
		t.Errorf("what was in the folder is gone: %v", report.Diags)
	}
	if !slices.Equal(codes(report, diag.Error), []string{"empty-input"}) || report.Ready().Status != "False" {
		t.Errorf("%v", report.Diags)
	}
	l.pipeline.Spec.Limits.AllowEmpty = true
	report = l.pass()
	if text := l.remote.read("env")["a/agent/agent-config.secret.yaml"].text; strings.Contains(text,
		"serviceMonitor/a/db") || len(report.Diags) > 0 {
		t.Errorf("limits.allowEmpty does not allow it: %v", report.Diags)
	}
}
