package gitsync_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// argued is a repository of an app of apps and an ApplicationSet over folders. They give two units.
func argued(url string) map[string]string {
	without := func(text string) string { return strings.ReplaceAll(text, ", namespace: x", "") }
	source := func(path string) string { return fmt.Sprintf("source: {repoURL: %s, path: %s}", url, path) }
	return map[string]string{
		"in/root.yaml": argoApplication("root", source("apps"), "argocd"),
		"apps/a.yaml":  argoApplication("a", source("base/one"), "a"),
		"apps/set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n" +
			"metadata: {name: set, namespace: argocd}\nspec:\n" +
			"  generators: [{git: {repoURL: " + url + ", directories: [{path: teams/*}]}}]\n" +
			"  template: {metadata: {name: '{{path.basename}}'}, spec: {source: {repoURL: " + url +
			", path: '{{path}}'}, destination: {name: in-cluster, namespace: '{{path.basename}}'}}}\n",
		"base/one/agent.yaml": without(agent("x")), "base/one/web.yaml": without(monitor("x", "web", "http")),
		"teams/b/kustomization.yaml": "resources: [../../base/one/agent.yaml, ../../base/one/web.yaml]\n",
	}
}

// argoLab has a pipeline that follows Applications.
func argoLab(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	l.files = argued(l.pipeline.Spec.Sources[0].URL)
	l.pipeline.Spec.Sources[0].Build = "argocd"
	l.options.Charts = helm.NewWorkers(helm.Options{Command: []string{os.Args[0]}, Env: []string{chartsEnv + "=1"}})
	t.Cleanup(l.options.Charts.Close)
	return l
}

// TestOnlyApplicationsThatReadAChangeAreBuiltAgain: a new folder makes a new Application, and no other one is built.
func TestOnlyApplicationsThatReadAChangeAreBuiltAgain(t *testing.T) {
	l := argoLab(t)
	l.input(nil)
	s := l.syncer()
	get := func(ns string) *manifest.Object {
		return l.passOf(s).Set.Get(manifest.ID{Kind: "ServiceMonitor", Namespace: ns, Name: "web"})
	}
	a, b := get("a"), get("b")
	if a == nil || b == nil {
		t.Fatal("the Applications give nothing")
	}
	l.input(map[string]string{"teams/c/web.yaml": l.files["base/one/web.yaml"]})
	if get("c") == nil {
		t.Error("the new folder is not found")
	}
	if get("a") != a || get("b") != b {
		t.Error("an Application is built again though nothing that it reads has changed")
	}
}
