package flux

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// TestInputs compares what Flux applies of a repository with what agentry reads of it, object by object. What Flux
// applied is taken away and what agentry read is put in its place, so that the API server completes both in the same
// way.
func TestInputs(t *testing.T) {
	forge := gitops.NewForge(t)
	user := forge.NewUser(t)
	archive, err := txtar.ParseFile(filepath.Join("testdata", "fleet.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		user.Write(t, f.Name, string(f.Data))
	}
	user.Push(t, "Start")
	w := &testbed{t: t, forge: forge, user: user, Applier: cluster.NewApplier(t)}
	w.install()
	w.knowInputs()
	out, err := exec.Command(harness.Builds().Path(), "-mode", "flux", "-top", user.Dir, "-url", gitops.PublicURL,
		"clusters/prod").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := gitops.ByName(slices.DeleteFunc(harness.Decode(t, out), func(o *unstructured.Unstructured) bool {
		return !w.isCompared(o)
	}))
	controller := w.fleet()
	want := w.ofFlux()
	if names := got.Names(); !slices.Equal(names, want.Names()) {
		t.Fatalf("agentry %q\nFlux    %q", names, want.Names())
	}
	if len(want) < 18 {
		t.Fatalf("Flux applied only %q", want.Names())
	}
	controller.Kill()
	for name, o := range want {
		stored := w.replace(o, got[name])
		if a, b := comparable(t, o), comparable(t, stored); a != b {
			t.Errorf("%s\nFlux    %s\nagentry %s", name, a, b)
		}
	}
}

// knowInputs makes the API server know the kinds of monitors and agents.
func (w *testbed) knowInputs() {
	text, err := harness.OperatorCRDs()
	if err != nil {
		w.t.Fatal(err)
	}
	crds := gitops.ByName(harness.Decode(w.t, text))
	for _, name := range []string{"servicemonitors", "podmonitors", "probes", "scrapeconfigs"} {
		text, err := harness.CRDFile("github.com/prometheus-operator/prometheus-operator",
			"example/prometheus-operator-crd/monitoring.coreos.com_"+name+".yaml")
		if err != nil {
			w.t.Fatal(err)
		}
		maps.Copy(crds, gitops.ByName(harness.Decode(w.t, text)))
	}
	for _, crd := range crds {
		w.MustApply(w.t, []*unstructured.Unstructured{crd}, "CustomResourceDefinition")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		harness.Eventually(w.t, "serve "+crd.GetName(), func() error { return w.Knows(kind) })
	}
}

// fleet lets Flux apply the repository, and returns the controller when it has.
func (w *testbed) fleet() *harness.Process {
	cluster.OpenNamespaces(w.t, fluxSystem, "of-its-own")
	w.MustApply(w.t, harness.Decode(w.t,
		[]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: git-read, namespace: "+fluxSystem+"}\n"+
			"stringData: {username: flux, password: "+gitops.Password("flux")+"}\n")), "Secret")
	newSources(w.t)
	controller := w.launch()
	text, err := os.ReadFile(filepath.Join(w.user.Dir, "clusters/prod/flux-system/gotk-sync.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range harness.Decode(w.t, text) {
		if err := w.Apply(w.t, o, false); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, name := range fleetNames() {
		harness.Eventually(w.t, "Flux applies "+name, func() error {
			k, err := w.live(kustomizationIn(fluxSystem, name))
			if err != nil {
				return err
			}
			if observed, _, _ := unstructured.NestedInt64(k.Object, "status", "observedGeneration"); !isReady(k) ||
				observed != k.GetGeneration() {
				return fmt.Errorf("it is %s", conditions(k))
			}
			return nil
		})
	}
	return controller
}

// isCompared leaves out what Flux itself works with.
func (w *testbed) isCompared(o *unstructured.Unstructured) bool {
	return !strings.HasSuffix(strings.Split(o.GetAPIVersion(), "/")[0], ".toolkit.fluxcd.io")
}

// fleetNames are the Kustomizations of the repository that Flux applies.
func fleetNames() []string { return []string{"flux-system", "infrastructure", "apps", "extra"} }

// ofFlux are the objects of the kinds that agentry reads which Flux applied from the repository.
func (w *testbed) ofFlux() gitops.Objects {
	w.t.Helper()
	all := gitops.Objects{}
	for _, kind := range []string{"v1 Namespace", "v1 ConfigMap", "v1 Secret",
		"monitoring.coreos.com/v1 ServiceMonitor", "monitoring.coreos.com/v1 PodMonitor",
		"monitoring.coreos.com/v1 Probe", "monitoring.coreos.com/v1alpha1 ScrapeConfig",
		"monitoring.grafana.com/v1alpha1 GrafanaAgent", "monitoring.grafana.com/v1alpha1 MetricsInstance"} {
		version, kind, _ := strings.Cut(kind, " ")
		list, err := w.List(w.t, version, kind,
			"kustomize.toolkit.fluxcd.io/name in ("+strings.Join(append(fleetNames(), "stopped"), ",")+")")
		if err != nil {
			w.t.Fatal(err)
		}
		maps.Copy(all, gitops.ByName(list))
	}
	return all
}

// replace puts an object in the place of another, and returns what the API server made of it. Namespaces cannot be
// deleted without a controller: of them the fields are taken over.
func (w *testbed) replace(old, by *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	resource, err := w.Resource(old)
	if err == nil && old.GetKind() != "Namespace" {
		err = resource.Delete(w.t.Context(), old.GetName(), metav1.DeleteOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	stored, err := w.ApplyAs(w.t, gitops.AsStored(w.t, by), metav1.ApplyOptions{FieldManager: "e2e", Force: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return stored
}

// comparable is an object without what differs whoever applies it, and without Flux's own labels.
func comparable(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	o = o.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	labels := o.GetLabels()
	maps.DeleteFunc(labels, func(name, _ string) bool {
		return strings.HasPrefix(name, "kustomize.toolkit.fluxcd.io/")
	})
	if o.SetLabels(labels); len(labels) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "labels")
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
