package gitsync_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
)

func account(ns, name, team string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: %s, labels: {team: %s}}\n", name, ns, team)
}

// newPassingLab is a lab with one agent, whose pipeline passes kinds through.
func newPassingLab(t *testing.T, kinds ...string) *lab {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.PassThrough.Kinds = kinds
	l.input(map[string]string{"in/agent.yaml": agent("m"), "in/web.yaml": monitor("m", "web", "http")})
	return l
}

// passed are the files of what is passed through to a namespace, without the kustomization.
func (l *lab) passed(ns string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.payload(ns+"/_passthrough"))), func(name string) bool {
		return strings.HasSuffix(name, "kustomization.yaml")
	})
}

// file is a file of the output branch.
func (l *lab) file(name string) string { return l.remote.read("env")[name].text }

// heldObjects are the held objects of a report.
func heldObjects(report *gitsync.Report) (out []string) {
	for _, h := range report.Held {
		out = append(out, h.String())
	}
	return out
}

// TestPassedThroughObjects: what is passed through follows the inputs one by one. A broken object, or one in a broken
// file, stays as it was, and what is removed is pruned, at last with its folder.
func TestPassedThroughObjects(t *testing.T) {
	l := newPassingLab(t, "ServiceAccount", "ClusterRole")
	l.input(map[string]string{
		"in/a.yaml": account("shop", "a", "one"), "in/b.yaml": account("shop", "b", "one"),
		"in/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n" +
			"metadata: {name: \"system:web\"}\nrules: []\n",
	})
	s := l.syncer()
	l.passOf(s)
	if diff := cmp.Diff([]string{"a.serviceaccount.yaml", "b.serviceaccount.yaml"}, l.passed("shop")); diff != "" {
		t.Fatal(diff)
	}
	if files := l.passed("_cluster"); len(files) != 1 {
		t.Errorf("of the cluster: %v", files)
	}
	root := l.file("kustomization.yaml")
	for _, unit := range []string{"  - _cluster/_passthrough\n", "  - m/agent\n", "  - shop/_passthrough\n"} {
		if !strings.Contains(root, unit) {
			t.Errorf("the kustomization lacks %q:\n%s", unit, root)
		}
	}
	if report := l.passOf(s); report.Commit != "" {
		t.Error("a second pass made a commit")
	}
	if report := l.pass(); report.Commit != "" {
		t.Error("a fresh process made a commit")
	}

	l.input(map[string]string{"in/a.yaml": account("shop", "a", "two"),
		"in/b.yaml": strings.Replace(account("shop", "b", "two"), "metadata:", "secrtes: []\nmetadata:", 1)})
	report := l.passOf(s)
	now := l.payload("shop/_passthrough")
	if !strings.Contains(now["a.serviceaccount.yaml"], "team: two") ||
		!strings.Contains(now["b.serviceaccount.yaml"], "team: one") {
		t.Errorf("the broken object is not held alone: %v", now)
	}
	if diff := cmp.Diff([]string{"ServiceAccount/shop/b"}, heldObjects(report)); diff != "" {
		t.Error(diff)
	}
	if readme := l.file("shop/_passthrough/README.md"); !strings.Contains(readme,
		"# What is passed through to namespace shop\n") || !strings.Contains(readme, "| `ServiceAccount/shop/b` |") {
		t.Errorf("README.md:\n%s", readme)
	}

	l.input(map[string]string{"in/a.yaml": "kind: ServiceAccount\nmetadata: [\n",
		"in/role.yaml": "kind: ClusterRole\nrules: [\n"})
	report = l.passOf(s)
	if diff := cmp.Diff([]string{"ClusterRole/system:web", "ServiceAccount/shop/a", "ServiceAccount/shop/b"},
		heldObjects(report)); diff != "" || len(l.passed("shop")) != 2 || len(l.passed("_cluster")) != 1 {
		t.Errorf("broken files: %s, left %v", diff, l.passed("shop"))
	}
	if report := l.pass(); report.Commit != "" { // with nothing in memory
		t.Error("a fresh process made a commit")
	}

	l.input(map[string]string{"in/a.yaml": account("shop", "a", "three"), "in/b.yaml": "", "in/role.yaml": ""})
	report = l.passOf(s)
	if diff := cmp.Diff([]string{"a.serviceaccount.yaml"}, l.passed("shop")); diff != "" || len(report.Held) > 0 ||
		len(l.passed("_cluster")) > 0 {
		t.Errorf("after the repair: %s, held %v, %v", diff, heldObjects(report), l.passed("_cluster"))
	}
	l.input(map[string]string{"in/a.yaml": ""})
	l.passOf(s)
	if rest := below(l.remote.read("env"), "shop"); len(rest) > 0 {
		t.Errorf("something stays: %v", slices.Sorted(maps.Keys(rest)))
	}
}

// TestPassedThroughDrift: who else changes a copy is corrected, and a pipeline that names no kinds any more takes them
// away.
func TestPassedThroughDrift(t *testing.T) {
	l := newPassingLab(t, "ServiceAccount")
	l.input(map[string]string{"in/a.yaml": account("m", "a", "one")})
	l.pass()
	const name = "m/_passthrough/a.serviceaccount.yaml"
	l.tamper(func(files tree) { files[name] = entry{text: "changed: true\n"} })
	report := l.pass()
	if !slices.Contains(codes(report, diag.Warning), "drift") || !strings.Contains(l.file(name), "team: one") {
		t.Errorf("found %v, now %s", codes(report, diag.Warning), l.file(name))
	}
	l.pipeline.Spec.PassThrough.Kinds = nil
	l.pass()
	if rest := below(l.remote.read("env"), "m/_passthrough"); len(rest) > 0 {
		t.Errorf("something stays: %v", slices.Sorted(maps.Keys(rest)))
	}
}

// TestPassedThroughSecrets: an encrypted Secret that loses its encryption stays as it was, and neither the clear text
// nor the old one is among the records.
func TestPassedThroughSecrets(t *testing.T) {
	const sealed = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: m}\n" +
		"data: {key: \"ENC[AES256_GCM,data:%s]\"}\nsops: {mac: \"ENC[x]\"}\n"
	l := newPassingLab(t, "Secret")
	l.input(map[string]string{"in/s.yaml": fmt.Sprintf(sealed, "b25l")})
	l.pass()
	l.input(map[string]string{
		"in/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: m}\nstringData: {key: hunter2}\n"})
	for range 2 { // also in a fresh process, when the base has moved on
		report := l.pass()
		if diff := cmp.Diff([]string{"clear-secret"}, codes(report, diag.Error)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"Secret/m/s"}, heldObjects(report)); diff != "" {
			t.Error(diff)
		}
		if text := l.file("m/_passthrough/s.secret.yaml"); !strings.Contains(text, "data:b25l") {
			t.Errorf("the last good version is not there: %s", text)
		}
		l.input(map[string]string{"in/web.yaml": monitor("m", "web", "other")})
	}
	for name, file := range l.remote.read("env") {
		if strings.Contains(file.text, "hunter2") {
			t.Errorf("%s holds the secret", name)
		}
		if strings.HasPrefix(name, ".agentry/held/") {
			t.Errorf("a text is kept: %s", file.text)
		}
	}
	l.input(map[string]string{"in/s.yaml": fmt.Sprintf(sealed, "dHdv")})
	if report := l.pass(); len(report.Diags) > 0 ||
		!strings.Contains(l.file("m/_passthrough/s.secret.yaml"), "data:dHdv") {
		t.Errorf("after the repair: %v", report.Diags)
	}
}

// TestPassedThroughConflicts: of two sources that give an object the one stays that was there, and an object that a new
// agent would render as well keeps the agent out.
func TestPassedThroughConflicts(t *testing.T) {
	l := newPassingLab(t, "ServiceAccount", "Service")
	other := newHost(t).add("other")
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
		pipeline.Source{URL: other.url, Ref: pipeline.Ref{Branch: "main"}})
	other.commit("main", plain(map[string]string{"readme.yaml": "kind: none\n"}), 1, "one")
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: second-operated, namespace: m}\n" +
		"spec: {ports: [{port: 80}]}\n"
	l.input(map[string]string{"in/a.yaml": account("m", "a", "one"), "in/service.yaml": service})
	l.pass()
	other.commit("main", plain(map[string]string{"a.yaml": account("m", "a", "other"),
		"second.yaml": strings.ReplaceAll(agent("m"), "name: agent", "name: second")}), 2, "two")
	report := l.pass()
	if text := l.file("m/_passthrough/a.serviceaccount.yaml"); !strings.Contains(text, "team: one") {
		t.Errorf("the first definition does not stay: %s", text)
	}
	found := codes(report, diag.Error)
	if !slices.Contains(found, "duplicate-object") || !slices.Contains(found, "name-conflict") {
		t.Errorf("found %v", report.Diags)
	}
	if stays := l.file("m/_passthrough/second-operated.service.yaml") != ""; !stays ||
		states(report)["m/second"] != "leftout" {
		t.Errorf("the Service stays: %t, %v", stays, states(report))
	}
}

// TestPassedThroughDeletionGuard: a commit that would prune most of what is passed through is refused, with the folder
// or without.
func TestPassedThroughDeletionGuard(t *testing.T) {
	l := newPassingLab(t, "ConfigMap")
	var all string
	for i := range 10 {
		all += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: shop}\n", i)
	}
	l.input(map[string]string{"in/all.yaml": all})
	l.pass()
	for _, left := range []string{all[:strings.Index(all, "c3")-
		len("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ")], ""} {
		l.input(map[string]string{"in/all.yaml": left})
		report := l.pass()
		if report.Refused == nil || report.Refused.Code != diag.DeletionGuard ||
			!strings.Contains(report.Refused.Problem(), "ConfigMaps") {
			t.Errorf("refused: %v", report.Refused)
		}
	}
	l.pipeline.Spec.Limits.AllowFor = l.inputs[len(l.inputs)-1]
	if report := l.pass(); report.Refused != nil || len(l.passed("shop")) > 0 {
		t.Errorf("allowed, and refused: %v", report.Refused)
	}
}

// TestPassedThroughKustomization: an overlay decides the namespace, a finding names the file of the base, and an
// overlay that cannot be built keeps what it gave.
func TestPassedThroughKustomization(t *testing.T) {
	l := newPassingLab(t, "ServiceAccount", "Secret")
	const overlay = "namespace: shop\nnamePrefix: eu-\nresources: [../base]\n"
	l.input(map[string]string{
		"in/base/kustomization.yaml": "resources: [account.yaml, secret.yaml]\n",
		"in/base/account.yaml":       account("any", "web", "one"),
		"in/base/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" +
			"stringData: {key: \"ENC[AES256_GCM,data:b25l]\"}\nsops: {mac: \"ENC[x]\", version: 3.9.0}\n",
		"in/overlay/kustomization.yaml": overlay,
	})
	l.pipeline.Spec.Sources[0].Build = inputs.Auto
	report := l.pass()
	if diff := cmp.Diff([]string{"eu-s.secret.yaml", "eu-web.serviceaccount.yaml"}, l.passed("shop")); diff != "" {
		t.Fatal(diff, report.Diags)
	}
	if text := l.file("shop/_passthrough/eu-s.secret.yaml"); !strings.Contains(text, "mac: ENC[x]") ||
		strings.Contains(text, "annotations") {
		t.Errorf("the encrypted Secret: %s", text)
	}
	l.input(map[string]string{"in/overlay/kustomization.yaml": overlay + "patches: [{path: missing.yaml}]\n"})
	if report = l.pass(); len(l.passed("shop")) != 2 || !report.Diags.HasErrors() {
		t.Errorf("left: %v, found %v", l.passed("shop"), report.Diags)
	}
	l.input(map[string]string{"in/overlay/kustomization.yaml": overlay,
		"in/base/account.yaml": account("any", "web", "one") + "secrtes: []\n"})
	report = l.pass()
	if len(report.Diags) != 1 || report.Diags[0].File != "in/base/account.yaml" || report.Diags[0].Line != 4 ||
		len(l.passed("shop")) != 2 {
		t.Errorf("left: %v, found %+v", l.passed("shop"), report.Diags)
	}
}

// TestPassedThroughWorkload: a change that Kubernetes allows nobody is held at the object itself, and others go on.
func TestPassedThroughWorkload(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\n" +
		"metadata: {name: web, namespace: shop, labels: {rev: %q}}\n" +
		"spec: {selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %[2]s}}, spec: {containers: " +
		"[]}}}\n"
	l := newPassingLab(t, "Deployment", "ServiceAccount")
	l.input(map[string]string{"in/deployment.yaml": fmt.Sprintf(deployment, "one", "web"),
		"in/a.yaml": account("shop", "a", "one")})
	l.pass()
	l.input(map[string]string{"in/deployment.yaml": fmt.Sprintf(deployment, "two", "other"),
		"in/a.yaml": account("shop", "a", "two")})
	report := l.pass()
	if diff := cmp.Diff([]string{"immutable-field"}, codes(report, diag.Error)); diff != "" ||
		report.Diags[0].Object.Kind != "Deployment" {
		t.Error(diff, report.Diags)
	}
	if web, a := l.file("shop/_passthrough/web.deployment.yaml"),
		l.file("shop/_passthrough/a.serviceaccount.yaml"); !strings.Contains(web, "app: web") ||
		!strings.Contains(a, "team: two") {
		t.Errorf("%s\n%s", web, a)
	}
}
