package gitsync_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
)

type unitStates = map[string]gitsync.UnitState

// bySpace is an agent whose monitors are chosen by a label of their Namespace.
func bySpace(ns string) string {
	return strings.Replace(agent(ns), "serviceMonitorSelector: {}", "serviceMonitorSelector: {}\n  serviceMonitorNamespaceSelector: {matchLabels: {team: x}}", 1)
}

func space(name, team string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {team: %q}}\n", name, team)
}

func TestLostNamespaceHolds(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(string) string{
		"broken":  func(string) string { return "{" },
		"invalid": func(name string) string { return space(name, "no value!") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			files := twoTeams()
			files["in/a/agent.yaml"], files["in/a/ns.yaml"], files["in/b/ns.yaml"] = bySpace("a"), space("a", "x"), space("b", "y")
			l.input(files)
			l.pass()
			l.input(map[string]string{"in/a/ns.yaml": lose("a"), "in/b/web.yaml": monitor("b", "web", "other")})
			sees(t, l.pass(), unitStates{"a/agent": "held", "b/agent": "changed"})
			// b selects by no label, so to lose its own holds nothing.
			l.input(map[string]string{"in/a/ns.yaml": space("a", "x"), "in/b/ns.yaml": lose("b"), "in/b/web.yaml": monitor("b", "web", "more")})
			sees(t, l.pass(), unitStates{"a/agent": "unchanged", "b/agent": "changed"})
		})
	}
}

// TestLostNameHolds takes away what tells which object a document is.
func TestLostNameHolds(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string][2]string{
		"namespace left out": {", namespace: a", ""},
		"no namespace":       {"namespace: a", "namespace: A_b"},
		"no name":            {"name: web", "name: We_b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := rendered(t)
			l.input(map[string]string{"in/a/web.yaml": strings.Replace(monitor("a", "web", "http"), edit[0], edit[1], 1)})
			sees(t, l.pass(), unitStates{"a/agent": "held", "b/agent": "unchanged"})
			l.input(map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"), strings.Replace(edit[0], "web", "agent", 1), strings.Replace(edit[1], "We_b", "Ag_ent", 1), 1), "in/a/web.yaml": ""})
			sees(t, l.pass(), unitStates{"a/agent": "held", "b/agent": "unchanged"})
		})
	}
}

func TestHeldUnitGoesWithItsAgent(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.input(map[string]string{"in/a/web.yaml": bad("a")})
	sees(t, l.pass(), unitStates{"a/agent": "held", "b/agent": "unchanged"})
	l.input(map[string]string{"in/a/agent.yaml": ""})
	sees(t, l.pass(), unitStates{"a/agent": "removed", "b/agent": "unchanged"})
}

func TestFirstIncompleteThenMended(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	files := twoTeams()
	files["in/a/web.yaml"] = bad("a")
	l.input(files)
	s := l.syncer()
	sees(t, l.passOf(s), unitStates{"a/agent": "added", "b/agent": "added"})
	sees(t, l.passOf(s), unitStates{"a/agent": "held", "b/agent": "unchanged"}) // as a one-shot pass says
	sees(t, l.pass(), unitStates{"a/agent": "held", "b/agent": "unchanged"})
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "http")})
	sees(t, l.passOf(s), unitStates{"a/agent": "changed", "b/agent": "unchanged"})
	if text := l.remote.read("env")["a/agent/.agentry/inventory"].text; !strings.Contains(text, `"state": "complete"`) {
		t.Error(text)
	}
}

func TestDeselectedAgentGoes(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.pipeline.Spec.Operator.AgentSelector = "stage=prod"
	l.pipeline.Spec.Limits.Deletions = "100%"
	l.input(map[string]string{"in/c/broken.yaml": "{"})
	sees(t, l.pass(), unitStates{"a/agent": "removed", "b/agent": "removed"})
}

func TestSecretsPolicyTightened(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Secrets.Policy = gitsync.SecretsPlaintext
	l.input(twoTeams())
	l.pass()
	l.pipeline.Spec.Secrets.Policy = gitsync.SecretsReference
	l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "other")})
	l.pass()
	// Nothing of a had to change: it held no secrets. An error in it must not stop b.
	l.input(map[string]string{"in/a/web.yaml": bad("a"), "in/b/web.yaml": monitor("b", "web", "more")})
	report := l.pass()
	sees(t, report, unitStates{"a/agent": "held", "b/agent": "changed"})
	if report.Commit == "" {
		t.Errorf("%v", report.Diags)
	}
}

// TestObjectMovesBetweenSources gives an object from one repository to another.
func TestObjectMovesBetweenSources(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.remote.host.add("other")
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources, gitsync.Source{URL: other.url, Ref: gitsync.Ref{Branch: "main"}})
	l.input(twoTeams())
	other.commit("main", tree{"x.txt": {text: "x"}}, 1, "empty")
	l.pass()
	l.input(map[string]string{"in/a/web.yaml": ""})
	other.commit("main", tree{"web.yaml": {text: monitor("a", "web", "http")}}, 2, "moved")
	if report := l.pass(); report.Commit != "" || len(report.Diags) > 0 {
		t.Errorf("%v %v", report.Changes, report.Diags)
	}
	other.commit("main", tree{"web.yaml": {text: bad("a")}}, 3, "bad")
	report := l.pass()
	sees(t, report, unitStates{"a/agent": "held", "b/agent": "unchanged"})
	l.pipeline.Spec.Sources = l.pipeline.Spec.Sources[:1]
	sees(t, l.pass(), unitStates{"a/agent": "changed", "b/agent": "unchanged"})
}

// TestGuardCountsWhatIsThere adds to the inventories, so that a deletion looks small.
func TestGuardCountsWhatIsThere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	files := twoTeams()
	files["in/c/agent.yaml"] = agent("c")
	l.input(files)
	l.pass()
	l.tamper(func(files tree) {
		files[".agentry/units"] = entry{text: `["a/agent", "b/agent", "c/agent", "x/1", "x/2", "x/3"]`}
		const at = "c/agent/.agentry/inventory"
		var more string
		for i := range 9 {
			more += fmt.Sprintf(`{"path": "x%d.yaml", "object": "StatefulSet/c/x%d"}, `, i, i)
		}
		files[at] = entry{text: strings.Replace(files[at].text, `"files": [`, `"files": [`+more, 1)}
	})
	paused := strings.Replace(agent("c"), "spec:\n  metrics", "spec:\n  paused: true\n  metrics", 1)
	l.input(map[string]string{"in/a/agent.yaml": "", "in/b/agent.yaml": "", "in/c/agent.yaml": paused})
	l.refusedAt(diag.DeletionGuard, "")
}

func TestOnInvalidFailIgnoresWarnings(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.OnInvalid = gitsync.OnInvalidFail
	files := twoTeams()
	files["in/kustomization.yaml"] = "resources: []\n"
	l.input(files)
	report := l.pass()
	if diff := cmp.Diff([]string{"kustomization-not-built"}, codes(report, diag.Warning)); diff != "" || report.Commit == "" {
		t.Errorf("commit %q %s", report.Commit, diff)
	}
}
