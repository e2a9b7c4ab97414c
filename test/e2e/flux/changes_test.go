package flux

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

func (w *testbed) changedMonitor(t *testing.T) {
	before := w.inCluster()
	w.edit("team-shop/monitors.yaml", "interval: 30s", "interval: 45s")
	w.settled(w.push("Scrape the checkout less often"))
	if names := gitops.Changed(before, w.inCluster()); !slices.Equal(names, []string{config}) {
		t.Errorf("changed: %q", names)
	}
	w.configured("scrape_interval: 45s")
}

func (w *testbed) brokenObject(t *testing.T) {
	before := w.inCluster()
	w.edit("team-shop/monitors.yaml", "- port: metrics\n      interval: 45s", "- port: 8080\n      interval: 50s")
	w.edit("team-search/monitors.yaml", "interval: 1m", "interval: 2m")
	input := w.push("A typo, and something good")
	p := w.settled(input)
	wrong := gitops.Object{Kind: "ServiceMonitor", Namespace: "team-shop", Name: "checkout"}
	if !slices.Equal(p.Held, []gitops.Object{wrong}) {
		t.Errorf("held: %v", p.Held)
	}
	if names := gitops.Changed(before, w.inCluster()); !slices.Equal(names, []string{config}) {
		t.Errorf("changed: %q", names)
	}
	w.configured("scrape_interval: 2m", "scrape_interval: 45s")
	if strings.Contains(w.config(), "scrape_interval: 50s") {
		t.Error("some of the broken object is there")
	}
	w.toldOf(input, "ServiceMonitor/team-shop/checkout", "team-shop/monitors.yaml:11")

	before = w.inCluster()
	w.edit("team-shop/monitors.yaml", "- port: 8080", "- port: metrics")
	if p := w.settled(w.push("The typo put right")); len(p.Held) > 0 {
		t.Errorf("held: %v", p.Held)
	}
	if names := gitops.Changed(before, w.inCluster()); !slices.Equal(names, []string{config}) {
		t.Errorf("changed: %q", names)
	}
}

// toldOf looks for the events of an input commit with which something is held: agentry's own, and
// what Flux's Alert makes of the one that is posted in the name of the GitRepository.
func (w *testbed) toldOf(input string, texts ...string) {
	w.t.Helper()
	for path, about := range map[string]string{
		directPath: pipelineIdentity,
		alertsPath: "source.toolkit.fluxcd.io/v1 GitRepository " + fluxSystem + " " + rendered,
	} {
		e := w.events.await(w.t, path, "what is held", of(input, "BuildFailed"))
		if e.about() != about || e.Severity != "error" {
			w.t.Errorf("the event at %s is %+v", path, e)
		}
		for _, text := range texts {
			if !strings.Contains(e.Message, text) {
				w.t.Errorf("the event at %s does not tell of %s:\n%s", path, text, e.Message)
			}
		}
	}
}

func (w *testbed) refusedObject(t *testing.T) {
	before := w.inCluster()
	const disk = "storage: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}\n  "
	w.edit("monitoring/agent.yaml", "serviceAccountName:", disk+"serviceAccountName:")
	out, err := exec.Command(harness.Agentry().Path(), "render", "--no-pipeline", w.user.Dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	refused := gitops.ByName(harness.Decode(t, out))[statefulSet]
	if err := w.Apply(t, refused, true); err == nil || !strings.Contains(err.Error(), "is invalid: spec") {
		t.Fatalf("the API server would take it, so this proves nothing: %v", err)
	}
	w.edit("team-shop/monitors.yaml", "interval: 50s", "interval: 55s")
	input := w.push("A disk for a StatefulSet that has none, and something good")
	p := w.settled(input)
	wrong := gitops.Object{Kind: "GrafanaAgent", Namespace: "monitoring", Name: "grafana-agent"}
	if !slices.Equal(p.Held, []gitops.Object{wrong}) {
		t.Errorf("held: %v", p.Held)
	}
	if names := gitops.Changed(before, w.inCluster()); !slices.Equal(names, []string{config}) {
		t.Errorf("changed: %q", names)
	}
	w.toldOf(input, "GrafanaAgent/monitoring/grafana-agent", "volumeClaimTemplates")
	w.edit("monitoring/agent.yaml", disk, "")
	w.settled(w.push("No disk"))
}

func (w *testbed) edited(t *testing.T) {
	before := w.inCluster()
	w.forge.TellTo() // So that Flux gets to see the edit.
	gitops.Rest(t, "prod")
	clone := t.TempDir()
	gitops.Git(t, clone, "clone", "-q", "--branch", branch, w.forge.URL("dev"), ".")
	(&gitops.User{Dir: clone}).Edit(t, filepath.Join("monitoring", "grafana-agent", "grafana-agent.statefulset.yaml"),
		"replicas: 1", "replicas: 3")
	gitops.Git(t, clone, "commit", "-q", "-a", "-m", "Only for today")
	gitops.Git(t, clone, "push", "-q", "origin", "HEAD:"+branch)
	edited := strings.TrimSpace(gitops.Git(t, clone, "rev-parse", "HEAD"))
	w.sh("annotate --overwrite")
	w.applied(edited)
	if names := gitops.Changed(before, w.inCluster()); !slices.Equal(names, []string{statefulSet}) {
		t.Errorf("the edit changed %q", names)
	}

	w.forge.TellTo(w.told)
	if _, err := gitops.Call(w.told, gitops.HookSecret, edited); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "agentry puts it back", func() error {
		if differ := w.forge.Git(t, "diff", "--stat", edited+"^", branch, "--", "*.yaml"); differ != "" {
			return fmt.Errorf("the branch is not as it was:\n%s", differ)
		}
		return nil
	})
	w.applied(w.forge.Tip(t, branch))
	after := w.inCluster()
	if names := gitops.Changed(before, after); !slices.Equal(names, []string{statefulSet}) {
		t.Errorf("changed: %q", names)
	}
	for _, m := range gitops.Missing(before[statefulSet].Object["spec"], after[statefulSet].Object["spec"], "spec") {
		t.Error(m)
	}
}

// moved follows what docs/alloy-reference.md says of prune: true during a move.
func (w *testbed) moved(t *testing.T) {
	const with, without = "name: edge, namespace: edge, annotations: {agentry.dev/runtime: alloy}}\nspec:\n  image",
		"name: edge, namespace: edge}\nspec:\n  image"
	first := w.inCluster()
	w.edit("edge/agent.yaml", without, with)
	w.settled(w.push("Run Alloy at the edge"))
	moved := w.inCluster()
	for _, name := range gitops.Changed(first, moved) {
		switch isPruned := strings.HasPrefix(name, "-"); {
		case !strings.Contains(name, "/edge/"), strings.HasPrefix(name, "+"),
			isPruned != (name == "-Service/edge/edge-integrations-sd"):
			t.Errorf("changed: %s", name)
		case isPruned:
			if _, err := w.live(first[name[1:]]); err == nil {
				t.Errorf("%s is still in the cluster", name[1:])
			}
		}
	}
	pods := 0
	for name, o := range moved {
		containers, isWorkload, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if !isWorkload || !strings.Contains(name, "/edge/") {
			continue
		}
		if pods++; o.GetUID() != first[name].GetUID() || !strings.Contains(fmt.Sprint(containers), "grafana/alloy:") {
			t.Errorf("%s is another object, or does not run Alloy: %v", name, containers)
		}
	}
	if pods < 3 {
		t.Errorf("only %d workloads have moved", pods)
	}

	w.edit("edge/agent.yaml", with, without)
	w.settled(w.push("Run the agent at the edge again"))
	back := w.inCluster()
	if names := back.Names(); !slices.Equal(names, first.Names()) {
		t.Errorf("back: got  %q\nwant %q", names, first.Names())
	}
	for name, o := range first {
		for _, field := range []string{"spec", "data"} {
			if o.GetKind() == "Service" {
				continue // the API server gives the new one another address
			}
			for _, m := range append(gitops.Missing(o.Object[field], back[name].Object[field], field),
				gitops.Missing(back[name].Object[field], o.Object[field], field)...) {
				t.Errorf("%s is not what it was: %s", name, m)
			}
		}
	}
}

func (w *testbed) removed(t *testing.T) {
	before := w.inCluster()
	w.user.Remove(t, "edge/agent.yaml")
	input := w.push("No more edge")
	if e := w.events.await(t, directPath, "that most workloads would go",
		of(input, "BuildFailed")); !strings.Contains(e.Message, allowDeletions) {
		t.Errorf("the event does not tell what to do: %s", e.Message)
	}
	if names := gitops.Changed(before, w.inCluster()); len(names) > 0 {
		t.Errorf("changed: %q", names)
	}
	w.settled(w.push("No more edge, indeed\n\n" + allowDeletions))
	after := w.inCluster()
	for name := range before {
		if strings.Contains(name, "/edge/") != (after[name] == nil) {
			t.Errorf("%s: is it there? %v", name, after[name] != nil)
		}
	}
	for _, name := range gitops.Changed(before, after) {
		if !strings.HasPrefix(name, "-") {
			t.Errorf("changed: %s", name)
		}
	}
	for name, o := range before {
		if _, err := w.live(o); (err == nil) == strings.Contains(name, "/edge/") {
			t.Errorf("%s in the cluster: %v", name, err)
		}
	}
}

func (w *testbed) oneUnit(t *testing.T) {
	before := w.inCluster()
	all, err := w.kustomization()
	if err != nil {
		t.Fatal(err)
	}
	resource, err := w.Resource(all)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resource.Patch(t.Context(), rendered, types.MergePatchType, []byte(`{"spec": {"prune": false}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := resource.Delete(t.Context(), rendered, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	unit := all.DeepCopy()
	unit.Object = map[string]any{"apiVersion": all.GetAPIVersion(), "kind": all.GetKind(), "spec": all.Object["spec"]}
	unit.SetNamespace(fluxSystem)
	unit.SetName("grafana-agent")
	if err := unstructured.SetNestedField(unit.Object, "./monitoring/grafana-agent", "spec", "path"); err != nil {
		t.Fatal(err)
	}
	if err := w.Apply(t, unit, false); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "Flux applies the unit", func() error {
		k, err := w.live(unit)
		if err != nil || !isReady(k) {
			return fmt.Errorf("%w: %s", err, conditions(k))
		}
		return nil
	})
	for name, o := range before {
		after, err := w.live(o)
		if err != nil || after.GetGeneration() != o.GetGeneration() ||
			after.GetLabels()["kustomize.toolkit.fluxcd.io/name"] != unit.GetName() {
			t.Errorf("%s was not taken over as it was: %v, %v", name, err, after)
		}
	}
}
