package gitsync_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// argued is a repository of an app of apps and an ApplicationSet over folders. They give two units; beside it are the
// same objects as plain manifests, which must render to the same.
func argued(url string) (built, plain map[string]string) {
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
		"other/unlisted.yaml":        monitor("a", "unlisted", "http"),
	}, twoTeams()
}

func argoApplication(name, source, namespace string) string {
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\n"+
		"metadata: {name: %s, namespace: argocd}\nspec:\n  %s\n"+
		"  destination: {server: https://kubernetes.default.svc, namespace: %s}\n", name, source, namespace)
}

// argoLab has a pipeline that follows Applications.
func argoLab(t *testing.T) (l *lab, built, plain map[string]string) {
	t.Helper()
	l = newLab(t)
	built, plain = argued(l.pipeline.Spec.Sources[0].URL)
	l.files = maps.Clone(built)
	l.pipeline.Spec.Sources[0].Build = "argocd"
	l.options.Charts = helm.NewWorkers(helm.Options{Command: []string{os.Args[0]}, Env: []string{chartsEnv + "=1"}})
	t.Cleanup(l.options.Charts.Close)
	return l, built, plain
}

// TestApplicationsAreFollowed: what they give is rendered as plain manifests are, and held if they break.
func TestApplicationsAreFollowed(t *testing.T) {
	l, built, plain := argoLab(t)
	of := func(team string, since int) (out []string) {
		for _, object := range []string{"GrafanaAgent/%[1]s/agent", "MetricsInstance/%[1]s/main",
			"ServiceMonitor/%[1]s/web"} {
			out = append(out, fmt.Sprintf(object+" in %[1]s/agent: version 1 since %[2]d", team, since))
		}
		return out
	}
	held := func(since int) []string { return of("b", since) }
	set := built["apps/set.yaml"]
	runSteps(t, l,
		step{like: plain},
		// What an ApplicationSet gives is broken, then the ApplicationSet, then its Application goes on.
		step{edit: map[string]string{"teams/b/kustomization.yaml": "resources: [absent.yaml]\n"}, like: plain,
			wrong: "build-failed", held: held(3)},
		step{edit: map[string]string{"teams/b/kustomization.yaml": built["teams/b/kustomization.yaml"]}, like: plain},
		step{edit: map[string]string{"apps/set.yaml": strings.Replace(set, "git: {", "pullRequest: {", 1)}, like: plain,
			wrong: "build-refused", held: held(5)},
		step{edit: map[string]string{"apps/set.yaml": set}, like: plain},
		// The file of the ApplicationSet is not YAML, then that of the first Application.
		step{edit: map[string]string{"apps/set.yaml": set + "  bad: [\n"}, like: plain, wrong: "invalid-yaml",
			held: held(7)},
		step{edit: map[string]string{"apps/set.yaml": set}, like: plain},
		step{edit: map[string]string{"in/root.yaml": built["in/root.yaml"] + "  bad: [\n"}, like: plain,
			wrong: "invalid-yaml", held: append(of("a", 9), held(9)...)},
		step{edit: map[string]string{"in/root.yaml": built["in/root.yaml"]}, like: plain},
		// The app of apps is broken, and gives nothing: all is held.
		step{edit: map[string]string{"base/one/web.yaml": strings.ReplaceAll(built["base/one/web.yaml"], "http",
			"metrics")}, like: map[string]string{
			"in/a/agent.yaml": plain["in/a/agent.yaml"], "in/a/web.yaml": monitor("a", "web", "metrics"),
			"in/b/agent.yaml": plain["in/b/agent.yaml"], "in/b/web.yaml": monitor("b", "web", "metrics")}},
	)
}

// TestOnlyApplicationsThatReadAChangeAreBuiltAgain: a new folder makes a new Application, and no other one is built.
func TestOnlyApplicationsThatReadAChangeAreBuiltAgain(t *testing.T) {
	l, built, _ := argoLab(t)
	l.input(nil)
	s := l.syncer()
	get := func(ns string) *manifest.Object {
		return l.passOf(s).Set.Get(manifest.ID{Kind: "ServiceMonitor", Namespace: ns, Name: "web"})
	}
	a, b := get("a"), get("b")
	if a == nil || b == nil {
		t.Fatal("the Applications give nothing")
	}
	l.input(map[string]string{"teams/c/web.yaml": built["base/one/web.yaml"]})
	if get("c") == nil {
		t.Error("the new folder is not found")
	}
	if get("a") != a || get("b") != b {
		t.Error("an Application is built again though nothing that it reads has changed")
	}
}
