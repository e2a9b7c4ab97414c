package gitsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// TestNamespacesFromFoldersAndThePipeline: equal files of two folders are objects of two namespaces. The pipeline's
// labels of a Namespace select its objects until a manifest defines it, and an object that breaks is held in its
// namespace.
func TestNamespacesFromFoldersAndThePipeline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pipeline.Spec.NamespaceFrom = "in/namespaces/{namespace}/**"
	r.pipeline.Spec.Namespaces = map[string]map[string]string{"shop": {"watched": "yes"}, "pay": {"watched": "no"},
		"m": nil}
	r.pipeline.Spec.Ignore = ignore.Rules{{Paths: []string{"*/namespaces/pay"}, Reason: "not watched yet"}}
	web := strings.Replace(monitor("", "web", "http"), ", namespace: }", "}", 1)
	watching := strings.Replace(agent("m"), "serviceMonitorSelector: {}",
		"serviceMonitorSelector: {}\n  serviceMonitorNamespaceSelector: {matchLabels: {watched: \"yes\"}}", 1)
	r.commit("one", map[string]string{"in/agent.yaml": watching, "in/namespaces/shop/apps/web.yaml": web,
		"in/namespaces/pay/web.yaml": web})
	s := r.syncer()
	jobs := func() string {
		var out []string
		for line := range strings.Lines(r.show("m/agent/agent-config.secret.yaml")) {
			if _, name, found := strings.Cut(line, "job_name: "); found {
				out = append(out, strings.TrimSpace(name))
			}
		}
		return strings.Join(out, " ")
	}
	if report := r.passOf(s); len(report.Diags) > 0 || jobs() != "serviceMonitor/shop/web/0" {
		t.Fatalf("jobs %s, %v", jobs(), report.Diags)
	}
	if report := r.passOf(s); report.Commit != "" {
		t.Error("a second pass made a commit")
	}
	r.commit("pay is watched", map[string]string{
		"in/pay.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: pay, labels: {watched: \"yes\"}}\n"})
	if r.passOf(s); jobs() != "serviceMonitor/pay/web/0 serviceMonitor/shop/web/0" {
		t.Errorf("jobs %s", jobs())
	}
	r.commit("a mistake", map[string]string{"in/namespaces/shop/apps/web.yaml": strings.Replace(web, "endpoints",
		"endpointz", 1)})
	report := r.pass()
	if diff := cmp.Diff(map[string]plan.UnitState{"m/agent": "unchanged"}, states(report)); diff != "" {
		t.Error(diff)
	}
	if len(report.Held) != 1 || report.Held[0].String() != "ServiceMonitor/shop/web" {
		t.Errorf("held: %+v", report.Held)
	}
}
