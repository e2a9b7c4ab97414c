package gitsync_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/selfmonitoring"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestRightsAndAlerts: what is rendered on request is in the folder of the GrafanaAgent, follows the inputs, stays as
// it is in a second pass, and goes with the request. The ServiceAccount goes as soon as the inputs have it.
func TestRightsAndAlerts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(map[string]string{
		"in/agent.yaml": strings.Replace(agent("m"), "spec:", "spec:\n  serviceAccountName: scraper", 1),
		"in/web.yaml": strings.Replace(monitor("m", "web", "http"), "spec:",
			"spec:\n  namespaceSelector: {any: true}", 1),
	})
	s := l.syncer()
	l.passOf(s)
	without := l.payload("m/agent")

	l.pipeline.Spec.RBAC = pipeline.RBACRender
	l.pipeline.Spec.SelfMonitoring = &selfmonitoring.Settings{Alerts: &selfmonitoring.Alerts{},
		Dashboard: &selfmonitoring.Dashboard{}}
	s = l.syncer()
	l.passOf(s)
	more := func() []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(l.payload("m/agent"))), func(name string) bool {
			_, was := without[name]
			return was
		})
	}
	want := []string{"agent-dashboard.configmap.yaml", "agent.prometheusrule.yaml", "m.agent.clusterrole.yaml",
		"m.agent.clusterrolebinding.yaml", "scraper.serviceaccount.yaml"}
	if diff := cmp.Diff(want, more()); diff != "" {
		t.Fatal(diff)
	}
	if report := l.passOf(s); report.Commit != "" {
		t.Error("a second pass made a commit")
	}
	l.input(map[string]string{"in/account.yaml": account("m", "scraper", "one"),
		"in/web.yaml": monitor("m", "web", "http")})
	l.passOf(s)
	want = []string{"agent-dashboard.configmap.yaml", "agent.prometheusrule.yaml", "m.agent.m.role.yaml",
		"m.agent.m.rolebinding.yaml"}
	if diff := cmp.Diff(want, more()); diff != "" {
		t.Error(diff)
	}
	l.input(map[string]string{"in/account.yaml": ""})
	l.passOf(s)
	if !slices.Contains(more(), "scraper.serviceaccount.yaml") {
		t.Errorf("the ServiceAccount does not come back: %v", more())
	}
	l.pipeline.Spec.RBAC, l.pipeline.Spec.SelfMonitoring = "", nil
	l.passOf(l.syncer())
	if left := more(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
