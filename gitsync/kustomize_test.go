package gitsync_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// overlays is an input of two units that kustomizations build from one base. Beside it are the same objects as plain
// manifests, which must render to the same.
func overlays() (built, plain map[string]string) {
	without := func(text string) string { return strings.ReplaceAll(text, ", namespace: x", "") }
	overlay := func(ns string) string { return "resources: [../../base]\nnamespace: " + ns + "\n" }
	return map[string]string{
		"base/kustomization.yaml": "resources: [agent.yaml, web.yaml]\n",
		"base/agent.yaml":         without(agent("x")),
		"base/web.yaml":           strings.ReplaceAll(monitor("x", "web", "http"), ", namespace: x", ""),
		"in/a/kustomization.yaml": overlay("a"), "in/b/kustomization.yaml": overlay("b"),
		"in/a/unlisted.yaml": monitor("a", "unlisted", "http"),
	}, twoTeams()
}

// TestABrokenKustomizationHoldsItsObjects: what it gave at the base stays, and other kustomizations move on.
func TestABrokenKustomizationHoldsItsObjects(t *testing.T) {
	built, plain := overlays()
	like := func(changed map[string]string) map[string]string {
		out := map[string]string{"in/a/unlisted.yaml": "{}"}
		for name, text := range plain {
			out[name] = text
		}
		for name, text := range changed {
			out[name] = text
		}
		return out
	}
	l := newLab(t)
	l.files = built
	broken := "resources: [../../elsewhere]\nnamespace: a\n"
	held := func(since int) (out []string) {
		for _, object := range []string{"GrafanaAgent/a/agent", "MetricsInstance/a/main", "ServiceMonitor/a/web"} {
			out = append(out, fmt.Sprintf("%s in a/agent: version 1 since %d", object, since))
		}
		return out
	}
	runSteps(t, l,
		step{like: like(nil)},
		step{edit: map[string]string{"in/a/kustomization.yaml": broken}, like: like(nil), wrong: "build-failed",
			held: held(3)},
		step{edit: map[string]string{"base/web.yaml": strings.ReplaceAll(monitor("x", "web", "metrics"),
			", namespace: x", "")},
			like: like(map[string]string{"in/b/web.yaml": monitor("b", "web", "metrics")}), wrong: "build-failed",
			held: held(4)},
		step{edit: map[string]string{"base/agent.yaml": built["base/agent.yaml"] + "# x\n"},
			like: like(map[string]string{"in/b/web.yaml": monitor("b", "web", "metrics")}), wrong: "build-failed",
			held: held(4)},
		step{edit: map[string]string{"in/a/kustomization.yaml": built["in/a/kustomization.yaml"]},
			like: like(map[string]string{"in/a/web.yaml": monitor("a", "web", "metrics"),
				"in/b/web.yaml": monitor("b", "web", "metrics")})},
	)
}

// TestAPatchIsToBlame: an object that a patch makes wrong is held alone, also when the next commit changes the base.
func TestAPatchIsToBlame(t *testing.T) {
	built, plain := overlays()
	plain["in/a/unlisted.yaml"] = "{}"
	l := newLab(t)
	l.files = built
	patch := "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: web}\nspec:\n" +
		"  sampleLimit: many\n"
	runSteps(t, l,
		step{edit: map[string]string{"in/a/kustomization.yaml": built["in/a/kustomization.yaml"] +
			"patches: [{path: ../../limit.yaml}]\n", "limit.yaml": patch},
			like: plain, wrong: "invalid-field", held: heldWeb(1, 2)},
		step{edit: map[string]string{"limit.yaml": strings.Replace(patch, "many", "lots", 1)}, like: plain,
			wrong: "invalid-field", held: heldWeb(1, 3)},
	)
	report := l.pass()
	if d := report.Diags[0]; d.File != "limit.yaml" || d.Line != 5 || d.BuiltBy != "in/a/kustomization.yaml" {
		t.Errorf("the finding is at %s, built by %q", d.Position(), d.BuiltBy)
	}
}

// TestOnlyRootsThatReadAChangeAreBuiltAgain: a pass after an edit keeps the results of the others.
func TestOnlyRootsThatReadAChangeAreBuiltAgain(t *testing.T) {
	built, _ := overlays()
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

// TestALayoutMayChange: a file is read as it is exactly while no kustomization has it.
func TestALayoutMayChange(t *testing.T) {
	built, plain := overlays()
	with := func(more map[string]string) map[string]string {
		out := maps.Clone(plain)
		maps.Copy(out, more)
		return out
	}
	l := newLab(t)
	l.files = built
	listed := built["in/a/kustomization.yaml"]
	runSteps(t, l,
		step{edit: map[string]string{"in/a/kustomization.yaml": strings.Replace(listed, "base]", "base, unlisted.yaml]",
			1)}, like: with(nil)},
		step{edit: map[string]string{"in/c/kustomization.yaml": "resources: [../a]\n"}, like: with(nil)},
		step{edit: map[string]string{"in/a/kustomization.yaml": "", "in/c/kustomization.yaml": ""},
			like: map[string]string{"in/b/agent.yaml": plain["in/b/agent.yaml"],
				"in/b/web.yaml": plain["in/b/web.yaml"]}},
	)
}
