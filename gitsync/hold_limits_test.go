package gitsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
)

// bySpace is an agent whose monitors are chosen by a label of their Namespace.
func bySpace(ns string) string {
	return strings.Replace(agent(ns), "serviceMonitorSelector: {}",
		"serviceMonitorSelector: {}\n  serviceMonitorNamespaceSelector: {matchLabels: {team: x}}", 1)
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
			files["in/a/agent.yaml"], files["in/a/ns.yaml"], files["in/b/ns.yaml"] = bySpace("a"), space("a", "x"),
				space("b", "y")
			l.input(files)
			l.pass()
			for round := range 3 { // the labels are kept when the base moves on
				l.input(map[string]string{"in/a/ns.yaml": lose("a"),
					"in/b/web.yaml": monitor("b", "web", fmt.Sprint("p", round))})
				report := l.pass()
				sees(t, report, unitStates{"a/agent": "unchanged", "b/agent": "changed"})
				if diff := cmp.Diff([]string{"Namespace/a in a/agent: version 1 since 2"}, l.held(report)); diff != "" {
					t.Error(diff)
				}
			}
			l.input(map[string]string{"in/a/ns.yaml": space("a", "y")})
			sees(t, l.pass(), unitStates{"a/agent": "changed", "b/agent": "unchanged"})
		})
	}
}

func TestFirstIncompleteThenMended(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	files := twoTeams()
	files["in/a/web.yaml"] = bad("a")
	l.input(files)
	s := l.syncer()
	sees(t, l.passOf(s), unitStates{"a/agent": "added", "b/agent": "added"})
	sees(t, l.passOf(s), unitStates{"a/agent": "unchanged", "b/agent": "unchanged"}) // as a one-shot pass says
	sees(t, l.pass(), unitStates{"a/agent": "unchanged", "b/agent": "unchanged"})
	if text := l.remote.read("env")["a/agent/.agentry/inventory"].text; !strings.Contains(text,
		`"state": "incomplete"`) || strings.Contains(text, "ServiceMonitor/a/web") {
		t.Error(text)
	}
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "http")})
	sees(t, l.passOf(s), unitStates{"a/agent": "changed", "b/agent": "unchanged"})
	if text := l.remote.read("env")["a/agent/.agentry/inventory"].text; !strings.Contains(text, `"state": "complete"`) {
		t.Error(text)
	}
}

func TestSecretsPolicyTightened(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Secrets.Policy = secretref.Plaintext
	l.input(twoTeams())
	l.pass()
	l.pipeline.Spec.Secrets.Policy = secretref.Reference
	l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "other")})
	l.pass()
	// Nothing of a had to change: it held no secrets. That it stays must not stop b.
	l.forget()
	l.input(map[string]string{"in/a/web.yaml": bad("a"), "in/b/web.yaml": monitor("b", "web", "more")})
	report := l.pass()
	sees(t, report, unitStates{"a/agent": "held", "b/agent": "changed"})
	if report.Commit == "" {
		t.Errorf("%v", report.Diags)
	}
}

// TestSecretRuleForAHeldUnit has a unit that stays as it was rendered when its Secret had no rule.
func TestSecretRuleForAHeldUnit(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Secrets.Policy = secretref.Plaintext
	l.input(twoTeams())
	l.pass()
	l.pipeline.Spec.Secrets.Rules = []pipeline.SecretRule{{Match: pipeline.SecretMatch{Names: []string{"db-*"}},
		Policy: secretref.Reference}}
	l.input(elsewhere(2, agentA, paused("a")))
	l.refusedAt(diag.SecretsHeld, "a/agent")
	l.input(elsewhere(3, agentA, agent("a")))
	l.pass()
	l.input(elsewhere(4, agentA, paused("a")))
	l.pass()
	if text := l.remote.read("env")["a/agent/.agentry/inventory"].text; !strings.Contains(text, `"secretRules"`) {
		t.Error(text)
	}
}

// TestStandInUnderAStricterPolicy has a stand-in that a new policy does not allow: it is not
// rendered, and what was rendered of it in clear stops the commit.
func TestStandInUnderAStricterPolicy(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Secrets.Policy = secretref.Plaintext
	files := twoTeams()
	files[agentA] = strings.Replace(agent("a"), `mimir/push"`, `mimir/push", bearerToken: hunter2`, 1)
	l.input(files)
	l.pass()
	l.input(elsewhere(2, agentA, strings.Replace(files[agentA], "remoteWrite: [", "remoteWrite: 5 # [", 1)))
	l.pass()
	if texts := l.heldTexts(); len(texts) != 1 || !strings.Contains(texts[0], "hunter2") {
		t.Errorf("under the policy plaintext the text is not kept: %v", texts)
	}
	l.pipeline.Spec.Secrets.Policy = secretref.Reference
	l.input(elsewhere(3))
	l.refusedAt(diag.SecretsHeld, "a/agent")
	l.input(elsewhere(4, agentA, agent("a")))
	l.pass()
	for name, e := range l.remote.read("env") {
		if strings.Contains(e.text, "hunter2") {
			t.Errorf("%s:\n%s", name, e.text)
		}
	}
}

// TestTheGuardIgnoresForgedInventories adds to the inventories, so that a deletion looks small.
func TestTheGuardIgnoresForgedInventories(t *testing.T) {
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
	l.pipeline.Spec.OnInvalid = pipeline.OnInvalidFail
	l.pipeline.Spec.Sources[0].Build = inputs.Plain
	files := twoTeams()
	files["in/kustomization.yaml"] = "resources: []\n"
	l.input(files)
	report := l.pass()
	if diff := cmp.Diff([]string{"kustomization-not-built"}, codes(report, diag.Warning)); diff != "" ||
		report.Commit == "" {
		t.Errorf("commit %q %s", report.Commit, diff)
	}
}

// TestGuardCountsWhatIsSelected removes monitors, and leaves the agents: nothing is deleted, but nothing is scraped.
func TestGuardCountsWhatIsSelected(t *testing.T) {
	t.Parallel()
	twoPorts := func(name string) string {
		return strings.Replace(monitor("a", name, "http"), "{port: http}", "{port: http}, {port: admin}", 1)
	}
	for name, c := range map[string]struct {
		input  map[string]string // empties files
		want   string            // of the refusal; empty: it is written
		report string
	}{
		"most monitors": {
			map[string]string{"in/a/web.yaml": "", "in/a/m1.yaml": "", "in/a/m2.yaml": "", "in/a/m3.yaml": ""},
			"the commit would take 4 of 6 ServiceMonitors, 7 of 11 jobs from GrafanaAgent a/agent, more than 50%", "",
		},
		"most of their jobs": {
			map[string]string{"in/a/m1.yaml": monitor("a", "m1", "x"), "in/a/m2.yaml": monitor("a", "m2", "x"),
				"in/a/m3.yaml": monitor("a", "m3", "x"), "in/a/m4.yaml": monitor("a", "m4", "x"),
				"in/a/m5.yaml": monitor("a", "m5", "x")},
			"", "-5 jobs",
		},
		"a few": {map[string]string{"in/a/m1.yaml": "", "in/a/m2.yaml": ""}, "",
			"-2 ServiceMonitors, -4 jobs"},
		"the last one": {map[string]string{"in/b/web.yaml": ""}, "", "-1 ServiceMonitor, -1 job"},
		"all of an instance": {map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"),
			"serviceMonitorSelector: {}", "serviceMonitorSelector: {matchLabels: {no: one}}", 1)},
			"6 of 6 ServiceMonitors, 11 of 11 jobs from GrafanaAgent a/agent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			files := twoTeams()
			for i := range 5 {
				id := fmt.Sprintf("m%d", i+1)
				files["in/a/"+id+".yaml"] = twoPorts(id)
			}
			l.input(files)
			l.pass()
			l.input(c.input)
			report := l.pass()
			if c.want != "" {
				if report.Refused == nil || report.Refused.Code != diag.DeletionGuard ||
					!strings.Contains(report.Refused.Problem(), c.want) {
					t.Errorf("not refused: %+v", report.Refused)
				}
				return
			}
			if report.Commit == "" || !slices.ContainsFunc(report.Units, func(u gitsync.UnitStatus) bool {
				return u.Lost == c.report
			}) {
				t.Errorf("%v, %v", report.Units, report.Diags)
			}
		})
	}
}

// TestGuardOfAnInstance takes all jobs from one of two instances, which is little of all that its agent has.
func TestGuardOfAnInstance(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	files := twoTeams()
	second := strings.Replace(agent("a")[strings.Index(agent("a"), "---\n"):], "name: main", "name: small", 1)
	second = strings.Replace(second, "serviceMonitorSelector: {}",
		`serviceMonitorSelector: {matchLabels: {size: small}}`, 1)
	files["in/a/small.yaml"] = second
	for _, name := range []string{"one", "two"} {
		files["in/a/"+name+".yaml"] = strings.Replace(monitor("a", name, "http"), "namespace: a",
			"namespace: a, labels: {size: small}", 1)
	}
	for _, name := range []string{"three", "four", "five"} {
		files["in/a/"+name+".yaml"] = monitor("a", name, "http")
	}
	l.input(files)
	l.pass()
	l.input(map[string]string{"in/a/small.yaml": strings.Replace(second, "size: small", "size: none", 1)})
	const want = "the commit would take all jobs from MetricsInstance/a/small of GrafanaAgent a/agent: nothing is " +
		"written"
	if report := l.pass(); report.Refused == nil || report.Refused.Problem() != want {
		t.Errorf("%+v", report.Refused)
	}
}
