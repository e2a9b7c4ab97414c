package gitsync_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// fluxed is a repository as flux bootstrap makes it. Its Kustomizations give two units.
func fluxed() map[string]string {
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
		"base/agent.yaml": without(agent("x")),
		"base/web.yaml":   strings.ReplaceAll(monitor("x", "web", `"${PORT:-http}"`), ", namespace: x", ""),
	}
}

// TestOnlyKustomizationsOfFluxThatReadAChangeAreBuiltAgain: also if only their variables have changed.
func TestOnlyKustomizationsOfFluxThatReadAChangeAreBuiltAgain(t *testing.T) {
	built := fluxed()
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
