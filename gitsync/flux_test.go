package gitsync_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// fluxed is a repository as flux bootstrap makes it. Its Kustomizations give two units; beside it are the same objects
// as plain manifests, which must render to the same.
func fluxed() (built, plain map[string]string) {
	without := func(text string) string { return strings.ReplaceAll(text, ", namespace: x", "") }
	return map[string]string{
		"in/flux-system/kustomization.yaml": "resources: [gotk-sync.yaml]\n",
		"in/flux-system/gotk-sync.yaml":     fluxKustomization("flux-system", "./in", ""),
		"in/a.yaml":                         fluxKustomization("a", "./base", "targetNamespace: a"),
		"in/b.yaml":                         fluxKustomization("b", "./deep", ""),
		"deep/b.yaml": fluxKustomization("b-apps", "base",
			"targetNamespace: b, postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}"),
		"deep/vars.yaml": "apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: vars, namespace: flux-system}\ndata: {PORT: http}\n",
		"base/agent.yaml":  without(agent("x")),
		"base/web.yaml":    strings.ReplaceAll(monitor("x", "web", `"${PORT:-http}"`), ", namespace: x", ""),
		"base/values.yaml": "replicas: 3\n", "other/unlisted.yaml": monitor("a", "unlisted", "http"),
	}, withPort(twoTeams())
}

// withPort gives what is not substituted in a: its Kustomization has no variables.
func withPort(plain map[string]string) map[string]string {
	out := maps.Clone(plain)
	for name, text := range plain {
		if strings.HasPrefix(name, "in/a/") {
			out[name] = strings.ReplaceAll(text, "port: http", `port: "${PORT:-http}"`)
		}
	}
	return out
}

func fluxKustomization(name, path, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"+
		"metadata: {name: %s, namespace: flux-system}\n"+
		"spec: {path: %s, interval: 1m, prune: true, sourceRef: {kind: GitRepository, name: flux-system}%s}\n", name,
		path, more)
}

// TestFluxKustomizationsAreFollowed: what they give is rendered as plain manifests are, and held if they break.
func TestFluxKustomizationsAreFollowed(t *testing.T) {
	built, plain := fluxed()
	l := newLab(t)
	l.files = built
	l.pipeline.Spec.Sources[0].Build = "flux"
	held := func(since int) (out []string) {
		for _, object := range []string{"GrafanaAgent/b/agent", "MetricsInstance/b/main", "ServiceMonitor/b/web"} {
			out = append(out, fmt.Sprintf("%s in b/agent: version 1 since %d", object, since))
		}
		return out
	}
	runSteps(t, l,
		step{like: plain},
		// One is broken, then the one that it is made by, then what it needs.
		step{edit: map[string]string{"deep/b.yaml": strings.Replace(built["deep/b.yaml"], "path: base", "path: none",
			1)}, like: plain, wrong: "build-failed", held: held(3)},
		step{edit: map[string]string{"deep/b.yaml": built["deep/b.yaml"]}, like: plain},
		step{edit: map[string]string{"in/b.yaml": strings.Replace(built["in/b.yaml"], "sourceRef: {",
			"sourceRef: {namespace: other, ", 1)}, like: plain, wrong: "build-refused", held: held(5)},
		step{edit: map[string]string{"in/b.yaml": built["in/b.yaml"], "deep/vars.yaml": ""}, like: plain,
			wrong: "flux-variable", held: held(6)[2:]}, // only what the variable reaches
		step{edit: map[string]string{"deep/vars.yaml": strings.Replace(built["deep/vars.yaml"], "http", "metrics", 1)},
			like: map[string]string{
				"in/a/agent.yaml": plain["in/a/agent.yaml"], "in/a/web.yaml": plain["in/a/web.yaml"],
				"in/b/agent.yaml": plain["in/b/agent.yaml"],
				"in/b/web.yaml":   monitor("b", "web", "metrics")}},
	)
}

// TestOnlyKustomizationsOfFluxThatReadAChangeAreBuiltAgain: also if only their variables have changed.
func TestOnlyKustomizationsOfFluxThatReadAChangeAreBuiltAgain(t *testing.T) {
	built, _ := fluxed()
	l := newLab(t)
	l.files = built
	l.pipeline.Spec.Sources[0].Build = "flux"
	l.input(nil)
	s := l.syncer()
	get := func(ns string) *manifest.Object {
		return l.passOf(s).Set.Get(manifest.ID{Kind: "ServiceMonitor", Namespace: ns, Name: "web"})
	}
	a, b := get("a"), get("b")
	l.input(map[string]string{"deep/vars.yaml": strings.Replace(built["deep/vars.yaml"], "http", "metrics", 1)})
	if get("a") != a {
		t.Error("a is built again though nothing that it reads has changed")
	}
	if get("b") == b {
		t.Error("b is not built again though a variable has changed")
	}
}

// TestAVariableOfASecretStaysSecret: it is rendered under the policy plaintext only, and a held object does not keep
// it.
func TestAVariableOfASecretStaysSecret(t *testing.T) {
	built, plain := fluxed()
	built["deep/vars.yaml"] = strings.NewReplacer("ConfigMap", "Secret", "data: {PORT: http}",
		"stringData: {PORT: hunter22}").Replace(built["deep/vars.yaml"])
	built["deep/b.yaml"] = strings.Replace(built["deep/b.yaml"], "kind: ConfigMap", "kind: Secret", 1)
	like := func(port string) map[string]string {
		out := maps.Clone(plain)
		out["in/b/web.yaml"] = monitor("b", "web", port)
		return out
	}
	l := newLab(t)
	l.files = built
	l.pipeline.Spec.Sources[0].Build = "flux"
	l.pipeline.Spec.Secrets.Policy = "plaintext"
	runSteps(t, l,
		step{like: like("hunter22")},
		step{edit: map[string]string{"base/web.yaml": strings.Replace(built["base/web.yaml"], "spec:",
			"spec:\n  sampleLimit: many", 1)}, like: like("hunter22"), wrong: "invalid-field invalid-field",
			held: []string{"ServiceMonitor/a/web in a/agent: version 1 since 3",
				"ServiceMonitor/b/web in b/agent: version 1 since 3"}},
		step{edit: map[string]string{"base/web.yaml": strings.Replace(built["base/web.yaml"], "spec:",
			"spec:\n  sampleLimit: lots", 1), "in/b.yaml": built["in/b.yaml"] + "# x\n"}, like: like("hunter22"),
			wrong: "invalid-field invalid-field",
			held: []string{"ServiceMonitor/a/web in a/agent: version 1 since 4",
				"ServiceMonitor/b/web in b/agent: version 1 since 4"}},
	)
	for _, text := range l.heldTexts() {
		if strings.Contains(text, "hunter") {
			t.Errorf("a held text has the value: %s", text)
		}
	}
}

// TestAVariableOfASecretIsRefused by the secrets policy reference, without its value.
func TestAVariableOfASecretIsRefused(t *testing.T) {
	built, _ := fluxed()
	built["deep/vars.yaml"] = strings.NewReplacer("ConfigMap", "Secret", "data: {PORT: http}",
		"stringData: {PORT: hunter22}").Replace(built["deep/vars.yaml"])
	built["deep/b.yaml"] = strings.Replace(built["deep/b.yaml"], "kind: ConfigMap", "kind: Secret", 1)
	l := newLab(t)
	l.files = built
	l.pipeline.Spec.Sources[0].Build = "flux"
	l.input(nil)
	var found []string
	for _, d := range l.pass().Diags {
		if d.Code == "literal-token" {
			found = append(found, d.String()+" "+d.Hint)
		}
	}
	if len(found) != 1 || !strings.Contains(found[0], "${PORT}") || strings.Contains(found[0], "hunter") {
		t.Errorf("found %q", found)
	}
	for name, text := range l.payload("") {
		if strings.Contains(text, "hunter") {
			t.Errorf("%s has the value", name)
		}
	}
}
