package gitsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
)

// TestAOneLineChangeTouchesTwoFiles holds that a change of one field rewrites one manifest and one record.
func TestAOneLineChangeTouchesTwoFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	r.pass()
	r.commit("two", map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	r.pass()
	want := []string{"a/agent/agent-config.secret.yaml", "hydrator.metadata"}
	if diff := cmp.Diff(want, strings.Fields(r.out("diff", "--name-only", "env~1", "env"))); diff != "" {
		t.Error(diff)
	}
}

// TestDriftInAHeldUnitIsRemembered holds that the commit of another unit does not take what somebody changed for
// agentry's own, and that it is forgotten once the unit is rendered again.
func TestDriftInAHeldUnitIsRemembered(t *testing.T) {
	t.Parallel()
	const file = "a/agent/agent.statefulset.yaml"
	l := rendered(t)
	l.input(map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"), "instanceSelector: {}",
		"instanceSelector: {matchLabels: [x]}", 1), "in/b/web.yaml": monitor("b", "web", "other")})
	l.forget()
	l.input(nil)
	l.tamper(func(files tree) { files[file] = entry{text: "edited"} })
	held := l.pass()
	if states(held)["a/agent"] != "held" {
		t.Fatalf("%v %v", states(held), held.Diags)
	}
	for _, port := range []string{"third", "fourth"} {
		l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", port)})
		report := l.pass()
		if report.Commit == "" || !slices.Contains(codes(report, diag.Warning), "drift") {
			t.Errorf("the drift is forgotten at %s: %v", port, report.Diags)
		}
		if text := l.remote.read("env")["hydrator.metadata"].text; !strings.Contains(text, `"agentryDrift": {`) ||
			!strings.Contains(text, file) {
			t.Errorf("%s", text)
		}
	}
	l.input(map[string]string{"in/a/agent.yaml": agent("a")})
	if report := l.pass(); !slices.Contains(codes(report, diag.Warning), "drift") ||
		l.remote.read("env")[file].text == "edited" {
		t.Errorf("what was changed is not put back with a warning: %v", report.Diags)
	}
	if text := l.remote.read("env")["hydrator.metadata"].text; strings.Contains(text, "agentryDrift") {
		t.Errorf("the drift is put back and still recorded: %s", text)
	}
}

// TestFilesOfOthersAreNoDrift holds that files that others add do not make agentry's own files look changed.
func TestFilesOfOthersAreNoDrift(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.tamper(func(files tree) { files["a/agent/NOTES.txt"], files["theirs.txt"] = entry{text: "x"}, entry{text: "y"} })
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	if report := l.pass(); report.Commit == "" || len(report.Diags) > 0 {
		t.Errorf("found %v", report.Diags)
	}
}
