package gitsync_test

import (
	"strings"
	"testing"
)

// TestTheStateOfTheCluster: its Namespaces are for selectors and its ConfigMaps for variables until Git has them, and
// nothing of it is rendered. What is missing holds only the objects that it reaches.
func TestTheStateOfTheCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pipeline.Spec.Sources[0].Build = "flux"
	r.pipeline.Spec.Build.Cluster, r.pipeline.Spec.Limits.Deletions = "cluster", "100%"
	watching := strings.Replace(agent("m"), "serviceMonitorSelector: {}",
		"serviceMonitorSelector: {}\n  serviceMonitorNamespaceSelector: {matchLabels: {watched: \"yes\"}}", 1)
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {watched: \"yes\"}}\n"
	const own = "apiVersion: v1\nkind: Namespace\nmetadata: {name: m}\n"
	const vars = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {PORT: http}\n"
	r.commit("one", map[string]string{"in/apps.yaml": fluxKustomization("apps", "./apps",
		"postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}"),
		"apps/agent.yaml": watching, "apps/web.yaml": monitor("shop", "web", `"${PORT}"`),
		"apps/fixed.yaml":   monitor("shop", "fixed", "http"),
		"cluster/vars.yaml": vars, "cluster/shop.yaml": namespace + "---\n" + own,
		"cluster/extra.yaml": monitor("shop", "extra", "http")})
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
	const both = "serviceMonitor/shop/fixed/0 serviceMonitor/shop/web/0"
	if report := r.passOf(s); len(report.Diags) > 0 || jobs() != both {
		t.Fatalf("jobs %s, %v", jobs(), report.Diags)
	}
	if report := r.passOf(s); report.Commit != "" {
		t.Error("a second pass made a commit")
	}
	r.commit("gone", map[string]string{"cluster/vars.yaml": ""})
	report := r.passOf(s)
	if jobs() != both || len(report.Held) != 1 || report.Held[0].String() != "ServiceMonitor/shop/web" {
		t.Errorf("jobs %s, held %+v, %v", jobs(), report.Held, report.Diags)
	}
	r.commit("in Git", map[string]string{"in/vars.yaml": vars, "cluster/shop.yaml": strings.Replace(namespace, "yes",
		"no", 1) + "---\n" + own})
	if report := r.passOf(s); len(report.Held) > 0 || jobs() != "" {
		t.Errorf("jobs %s, held %+v, %v", jobs(), report.Held, report.Diags)
	}
	r.commit("a manifest", map[string]string{"apps/shop.yaml": namespace})
	if report := r.passOf(s); len(report.Held) > 0 || jobs() != both {
		t.Errorf("jobs %s, held %+v, %v", jobs(), report.Held, report.Diags)
	}
}
