package gitsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// typo is a monitor with a field that no ServiceMonitor has.
func typo(ns, name, port string) string {
	return strings.Replace(monitor(ns, name, port), "port:", "pth: /metrics, port:", 1)
}

// TestATypoIsHeld has an unknown field in an object that was good, and in a new one.
func TestATypoIsHeld(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	l.pass()
	before := l.payload("a")
	l.input(map[string]string{"in/a/web.yaml": typo("a", "web", "other"), "in/a/new.yaml": typo("a", "new", "http"),
		"in/b/web.yaml": monitor("b", "web", "p2")})
	report := l.pass()
	sees(t, report, unitStates{"a/agent": "unchanged", "b/agent": "changed"})
	if diff := cmp.Diff([]string{"ServiceMonitor/a/new in : no version since 2",
		"ServiceMonitor/a/web in a/agent: version 1 since 2"}, l.held(report)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, l.payload("a")); diff != "" {
		t.Error(diff)
	}
}

// TestAMisspeltKindLosesNothing misspells the kind of a monitor, and then writes a version that it does not have.
func TestAMisspeltKindLosesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	l.pass()
	before := l.payload("a")
	for port, misspelt := range map[string]string{
		"p2": strings.Replace(monitor("a", "web", "p1"), "kind: ServiceMonitor", "kind: ServiceMonitors", 1),
		"p3": strings.Replace(monitor("a", "web", "p1"), "monitoring.coreos.com/v1", "monitoring.coreos.com/v1beta1",
			1),
	} {
		l.input(map[string]string{"in/a/web.yaml": misspelt, "in/b/web.yaml": monitor("b", "web", port)})
		report := l.pass()
		sees(t, report, unitStates{"a/agent": "unchanged", "b/agent": "changed"})
		if diff := cmp.Diff([]string{"ServiceMonitor/a/web in a/agent: version 1 since 2"}, l.held(report)); diff !=
			"" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, l.payload("a")); diff != "" {
			t.Error(diff)
		}
	}
}

// TestUnknownFieldsThatWereRendered has objects with unknown fields that were rendered without them, as by an agentry
// for which they were warnings. From then on they are held: nothing is lost, and nothing else stops.
func TestUnknownFieldsThatWereRendered(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.UnknownFields = manifest.IgnoreUnknownFields
	files := twoTeams()
	files["in/a/web.yaml"], files["in/a/old.yaml"] = typo("a", "web", "http"), typo("a", "old", "http")
	l.input(files)
	sees(t, l.pass(), unitStates{"a/agent": "added", "b/agent": "added"})
	before := l.payload("a")
	l.pipeline.Spec.UnknownFields = ""
	for round, port := range []string{"p1", "p2", "p3"} { // as the base moves on, too
		l.input(map[string]string{"in/a/web.yaml": typo("a", "web", port), "in/b/web.yaml": monitor("b", "web", port)})
		if round == 2 {
			l.options.CacheDir = t.TempDir()
		}
		report := l.pass()
		sees(t, report, unitStates{"a/agent": "unchanged", "b/agent": "changed"})
		if diff := cmp.Diff([]string{"ServiceMonitor/a/old in a/agent: version 1 since 2",
			"ServiceMonitor/a/web in a/agent: version 1 since 2"}, l.held(report)); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(before, l.payload("a")); diff != "" {
		t.Error(diff)
	}
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "p4"), "in/a/old.yaml": monitor("a", "old", "p4")})
	if report := l.pass(); len(l.held(report)) > 0 || report.Diags.HasErrors() {
		t.Errorf("%v %v", l.held(report), report.Diags)
	}
}

// TestFailOnWarning makes no commit for a warning, and says so.
func TestFailOnWarning(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.UnknownFields = manifest.IgnoreUnknownFields
	l.pipeline.Spec.OnInvalid = pipeline.OnInvalidFail
	files := twoTeams()
	files["in/a/web.yaml"] = typo("a", "web", "http")
	l.input(files)
	l.pipeline.Spec.FailOn = diag.Warning
	report := l.pass()
	if ready := report.Ready(); report.Commit != "" || report.Refused == nil ||
		report.Refused.Code != diag.UnknownField || ready.Status != "False" {
		t.Errorf("commit %q, refused %v, ready %v", report.Commit, report.Refused, report.Ready())
	}
	l.pipeline.Spec.FailOn = diag.Error
	if report = l.pass(); report.Commit == "" || report.Ready().Status != "True" {
		t.Errorf("commit %q, ready %v", report.Commit, report.Ready())
	}
}
