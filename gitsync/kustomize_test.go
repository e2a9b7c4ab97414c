package gitsync_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// overlays is an input of two units that kustomizations build from one base.
func overlays() map[string]string {
	without := func(text string) string { return strings.ReplaceAll(text, ", namespace: x", "") }
	overlay := func(ns string) string { return "resources: [../../base]\nnamespace: " + ns + "\n" }
	return map[string]string{
		"base/kustomization.yaml": "resources: [agent.yaml, web.yaml]\n",
		"base/agent.yaml":         without(agent("x")),
		"base/web.yaml":           strings.ReplaceAll(monitor("x", "web", "http"), ", namespace: x", ""),
		"in/a/kustomization.yaml": overlay("a"), "in/b/kustomization.yaml": overlay("b"),
	}
}

// TestOnlyRootsThatReadAChangeAreBuiltAgain: a pass after an edit keeps the results of the others.
func TestOnlyRootsThatReadAChangeAreBuiltAgain(t *testing.T) {
	built := overlays()
	l := newLab(t)
	l.files = built
	l.input(nil)
	s := l.syncer()
	before := l.passOf(s).Set.Get(manifest.ID{Kind: "ServiceMonitor", Namespace: "b", Name: "web"})
	get := func(edit map[string]string) *manifest.Object {
		l.input(edit)
		return l.passOf(s).Set.Get(before.ID)
	}
	if get(map[string]string{"in/a/kustomization.yaml": built["in/a/kustomization.yaml"] +
		"commonAnnotations: {x: y}\n", "base/unread.yaml": "x"}) != before {
		t.Error("it is built again though nothing that it reads has changed")
	}
	if get(map[string]string{"base/web.yaml": built["base/web.yaml"] + "# the same\n"}) == before {
		t.Error("it is not built again though its base has changed")
	}
}
