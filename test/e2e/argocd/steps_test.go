//go:build argocd

package argocd

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// other is the page's Application with another name and another source.
func (w *testbed) other(name string, source map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	o := w.onPage("name: " + rendered)
	o.SetName(name)
	source["repoURL"] = gitops.PublicURL
	if err := unstructured.SetNestedMap(o.Object, source, "spec", "source"); err != nil {
		w.t.Fatal(err)
	}
	return o
}

// look is what Argo CD makes of the branch as a folder of plain manifests, without applying it.
func (w *testbed) look(name string, directory map[string]any) application {
	w.t.Helper()
	o := w.other(name, map[string]any{"targetRevision": branch, "path": ".", "directory": directory})
	unstructured.RemoveNestedField(o.Object, "spec", "syncPolicy")
	w.mustApply(o)
	defer w.forget(name)
	return w.await(name, "is compared", func(a application) bool { return a.Status.Sync.Status != "" })
}

// plainFolder is about an Application that is told not to build with kustomize: it takes what tells
// kustomize what to do for a manifest, and nothing else, not even what is held.
func (w *testbed) plainFolder(t *testing.T) {
	manifests := w.forge.Manifests(t, branch).Names()
	for exclude, want := range map[string][]string{
		"": append([]string{"Kustomization//"}, manifests...),
		"{kustomization.yaml,**/kustomization.yaml}": slices.Clone(manifests),
	} {
		slices.Sort(want)
		a := w.look("plain", map[string]any{"recurse": true, "exclude": exclude})
		if names := a.resources(); !slices.Equal(names, want) {
			t.Errorf("without %q it loads %q\nnot %q\n%s", exclude, names, want, a)
		}
	}
}

func (w *testbed) input(t *testing.T) {
	w.mustApply(w.other("input", map[string]any{"targetRevision": "main", "path": "monitoring"}))
	defer w.forget("input")
	w.await("input", "fails, as there are no such kinds", func(a application) bool {
		return strings.Contains(a.String(), "could not find monitoring.grafana.com/GrafanaAgent")
	})
}

func (w *testbed) selfHeal(t *testing.T) {
	was := w.inCluster()
	agent, secret := was[statefulSet], was[config]
	client := cluster.Client(t)
	if _, err := client.AppsV1().StatefulSets(agent.GetNamespace()).Patch(t.Context(), agent.GetName(),
		types.MergePatchType,
		[]byte(`{"spec": {"replicas": 3}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the replicas are put back", func() error {
		live, err := w.live(agent)
		if err != nil || live.GetGeneration() != agent.GetGeneration()+2 {
			return fmt.Errorf("generation %d, not %d: %v", live.GetGeneration(), agent.GetGeneration()+2, err)
		}
		if missing := gitops.Missing(agent.Object["spec"], live.Object["spec"], "spec"); len(missing) > 0 {
			return fmt.Errorf("%q", missing)
		}
		return nil
	})
	if err := client.CoreV1().Secrets(secret.GetNamespace()).Delete(t.Context(), secret.GetName(),
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the Secret comes back", func() error {
		live, err := w.live(secret)
		if err != nil || live.GetUID() == secret.GetUID() {
			return fmt.Errorf("it is not new: %v", err)
		}
		return nil
	})
	w.synced(rendered, w.forge.Tip(t, branch))
	if names := gitops.Changed(was, w.inCluster()); !slices.Equal(names, []string{config, statefulSet}) {
		t.Errorf("changed: %q", names)
	}
}

// large is about a configuration of which client-side apply would make an annotation that the API
// server refuses, if only just.
func (w *testbed) large(t *testing.T) {
	w.user.Write(t, "edge/large.yaml", w.testdata("large.yaml")+noise(5600))
	w.settled(w.user.Push(t, "A large configuration"))
	const file = "edge/large/large-config.secret.yaml"
	text := w.forge.Git(t, "show", branch+":"+file)
	path := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(harness.Kubectl().Path(), "apply", "--dry-run=server", "-f", path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Too long") {
		t.Errorf("client-side apply takes all %d bytes, so this proves nothing: %v, %s", len(text), err, out)
	}
	if len(text) > 275_000 {
		t.Errorf("%d bytes are not near the limit: make it smaller", len(text))
	}
	w.refreshed()
}

// noise is relabelings that cannot be compressed well.
func noise(n int) string {
	random := rand.NewChaCha8([32]byte{})
	var b strings.Builder
	for range n {
		var bytes [32]byte
		_, _ = random.Read(bytes[:]) // Never fails.
		fmt.Fprintf(&b, "        - {targetLabel: noise, replacement: %q}\n", hex.EncodeToString(bytes[:]))
	}
	return b.String()
}

func (w *testbed) serverSide(t *testing.T) {
	interval := 50
	next := func() (before, after string) {
		interval++
		return fmt.Sprintf("interval: %ds", interval-1), fmt.Sprintf("interval: %ds", interval)
	}
	for _, options := range []struct{ apply, diff string }{
		{"ServerSideApply=true", "ServerSideDiff=false"},
		{"ServerSideApply=true", "ServerSideDiff=true"},
		{"ServerSideApply=false", "ServerSideDiff=true"},
		{"ServerSideApply=false", "ServerSideDiff=false"},
	} {
		w.patch(rendered, fmt.Sprintf(
			`{"metadata": {"annotations": {"argocd.argoproj.io/compare-options": %q}}, "spec": {"syncPolicy": {"syncOptions": [%q]}}}`,
			options.diff, options.apply))
		before, after := next()
		w.user.Edit(t, "team-shop/monitors.yaml", before, after)
		w.settled(w.user.Push(t, "The first with "+options.apply)) // It notes in all objects who applies them now.
		w.refreshed()
		before, after = next()
		w.changes(before, after, config)
		w.refreshed()
	}
}

func (w *testbed) removed(t *testing.T) {
	was := w.inCluster()
	w.user.Remove(t, "edge/agent.yaml")
	w.user.Remove(t, "edge/large.yaml")
	w.settled(w.user.Push(t, "No more edge"+allowDeletions))
	for name, o := range was {
		if strings.Contains(name, "/edge/") {
			w.gone(o)
		}
	}
	for _, name := range gitops.Changed(was, w.inCluster()) {
		if !strings.HasPrefix(name, "-") || !strings.Contains(name, "/edge/") {
			t.Errorf("changed: %s", name)
		}
	}
}

func (w *testbed) last(t *testing.T) {
	was := w.inCluster()
	w.user.Remove(t, "monitoring/agent.yaml")
	s := gitops.Rendered(t, "prod", w.user.Push(t, "No agent at all"+allowDeletions))
	w.await(rendered, "refuses", func(a application) bool {
		return a.Status.Sync.Revision == s.Output.Commit &&
			strings.Contains(a.condition("SyncError"), "auto-sync will wipe out all resources")
	})
	gitops.Delivered(t, "prod", s.Output.Commit, "prod", "failed", "auto-sync will wipe out all resources")
	if names := gitops.Changed(was, w.liveOf(was)); len(names) > 0 {
		t.Errorf("changed: %q", names)
	}
	w.sh("allowEmpty")
	for _, o := range was {
		w.gone(o)
	}
	w.synced(rendered, s.Output.Commit)

	gitops.Git(t, w.user.Dir, "revert", "--no-edit", "HEAD", "HEAD~1")
	w.settled(w.user.Push(t, "They are back"))
	if names := w.inCluster().Names(); !slices.Contains(names, statefulSet) ||
		!slices.ContainsFunc(names, func(name string) bool {
			return strings.Contains(name, "/edge/")
		}) {
		t.Errorf("back are only %q", names)
	}
}

func (w *testbed) liveOf(objects gitops.Objects) gitops.Objects {
	w.t.Helper()
	out := gitops.Objects{}
	for name, o := range objects {
		live, err := w.live(o)
		if err != nil {
			w.t.Fatal(err)
		}
		out[name] = live
	}
	return out
}

func (w *testbed) applicationSet(t *testing.T) {
	was := w.inCluster()
	w.forget(rendered)
	w.mustApply(w.onPage("kind: ApplicationSet"))
	tip := w.forge.Tip(t, branch)
	var objects []string
	for _, name := range []string{"edge-edge", "edge-large", "monitoring-grafana-agent"} {
		objects = append(objects, w.synced(name, tip).resources()...)
	}
	if names := w.applications(); !slices.Equal(names,
		[]string{"edge-edge", "edge-large", "monitoring-cluster", "monitoring-grafana-agent"}) {
		t.Errorf("there are Applications for %q", names)
	}
	slices.Sort(objects)
	if !slices.Equal(objects, was.Names()) {
		t.Errorf("applied %q\nnot     %q", objects, was.Names())
	}
	for name, o := range was {
		after, err := w.live(o)
		if err != nil || after.GetUID() != o.GetUID() || !reflect.DeepEqual(after.Object["spec"], o.Object["spec"]) {
			t.Errorf("%s was not taken over as it was: %v", name, err)
		}
	}
	w.user.Remove(t, "edge/agent.yaml")
	gitops.Rendered(t, "prod", w.user.Push(t, "No more edge"+allowDeletions))
	w.sh("application-set-refresh")
	w.gone(newApplication("edge-edge"))
	for name, o := range was {
		if strings.HasPrefix(strings.SplitN(name, "/", 2)[1], "edge/edge") {
			w.gone(o)
		} else if _, err := w.live(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// labels is about what Argo CD did before 3.0. It is the last step: what is marked in one way is
// not all marked in another by and by.
func (w *testbed) labels(t *testing.T) {
	const app = "monitoring-grafana-agent"
	agent := w.inCluster()[statefulSet]
	if _, err := cluster.Client(t).CoreV1().ConfigMaps(namespace).Patch(t.Context(), "argocd-cm", types.MergePatchType,
		[]byte(`{"data": {"application.resourceTrackingMethod": "label"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "Argo CD overwrites the label", func() error {
		w.patch(app, `{"metadata": {"annotations": {"argocd.argoproj.io/refresh": "hard"}}}`)
		live, err := w.live(agent)
		if got := live.GetLabels()["app.kubernetes.io/instance"]; err != nil || got != app {
			return fmt.Errorf("it is %q: %v", got, err)
		}
		return nil
	})
}
