package flux

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// newPasses is a testbed with a repository and Flux, in which agentry runs only when it is told to. Of the files of an
// archive, those in folders are in the repository; it returns the others.
func newPasses(t *testing.T, archive string) (w *testbed, others map[string]string) {
	t.Helper()
	w = &testbed{t: t, forge: gitops.NewForge(t), etc: t.TempDir(), Applier: cluster.NewApplier(t)}
	w.user = w.forge.NewUser(t)
	files, err := txtar.ParseFile(filepath.Join("testdata", archive))
	if err != nil {
		t.Fatal(err)
	}
	others = map[string]string{}
	for _, f := range files.Files {
		if strings.Contains(f.Name, "/") {
			w.user.Write(t, f.Name, string(f.Data))
		} else {
			others[f.Name] = string(f.Data)
		}
	}
	w.push("Start")
	for name, text := range map[string]string{"git.token": gitops.Password("git"),
		"hmac.key": strings.Repeat("0123456789abcdef", 4)} {
		if err := os.WriteFile(filepath.Join(w.etc, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.install()
	newSources(t)
	return w, others
}

// launch starts kustomize-controller.
func (w *testbed) launch(flags ...string) *harness.Process {
	w.t.Helper()
	w.t.Setenv("KUBECONFIG", cluster.AdminKubeconfig(w.t))
	w.t.Setenv("RUNTIME_NAMESPACE", fluxSystem)
	return cluster.Launch(w.t, "kustomize-controller", harness.KustomizeController(),
		append([]string{"--watch-all-namespaces", "--health-addr=127.0.0.1:9443",
			"--metrics-addr=127.0.0.1:9444", "--requeue-dependency=1s"}, flags...)...)
}

// sync makes a pass with a pipeline, as a replica that knows nothing of earlier ones, and returns what it reports.
func (w *testbed) sync(pipeline string) (report string) {
	w.t.Helper()
	file := filepath.Join(w.etc, "pipeline.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(pipeline, "FOLDER", w.etc)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	out, err := exec.CommandContext(w.t.Context(), harness.Agentry().Path(), "sync", "-f", file, "--cache-dir",
		w.t.TempDir()).CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || failed.ExitCode() != 1) {
		w.t.Fatalf("agentry sync: %v\n%s", err, out)
	}
	return string(out)
}

// kustomizationIn is the name of a Kustomization, for [testbed.live].
func kustomizationIn(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"name": name, "namespace": namespace},
	}}
}

// ask makes Flux reconcile an object.
func (w *testbed) ask(o *unstructured.Unstructured) {
	w.t.Helper()
	resource, err := w.Resource(o)
	if err != nil {
		w.t.Fatal(err)
	}
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{requestedAt: time.Now().Format(time.RFC3339Nano)}}})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := resource.Patch(w.t.Context(), o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err !=
		nil {
		w.t.Fatal(err)
	}
}

// fetch makes Flux fetch the branch of a GitRepository that has the name of a Kustomization.
func (w *testbed) fetch(k *unstructured.Unstructured) {
	w.t.Helper()
	w.ask(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "source.toolkit.fluxcd.io/v1",
		"kind": "GitRepository", "metadata": k.Object["metadata"]}})
}

// handled waits until Flux has done what it was asked to, and returns the Kustomization then. A new object is handled
// once it has a finalizer, before it has conditions; and what Flux is asked while it begins asks for one more round, in
// which Ready is Unknown.
func (w *testbed) handled(name *unstructured.Unstructured) (k *unstructured.Unstructured) {
	w.t.Helper()
	w.ask(name)
	harness.Eventually(w.t, "Flux reconciles "+name.GetNamespace()+"/"+name.GetName(), func() (err error) {
		if k, err = w.live(name); err != nil {
			return err
		}
		handled, _, _ := unstructured.NestedString(k.Object, "status", "lastHandledReconcileAt")
		is := conditions(k)
		if handled != k.GetAnnotations()[requestedAt] || !strings.HasPrefix(is, "Ready=True") &&
			!strings.HasPrefix(is, "Ready=False") {
			return fmt.Errorf("it has handled %q, and is %q", handled, is)
		}
		return nil
	})
	return k
}

// refused waits until Flux has failed to apply a commit.
func (w *testbed) refused(commit string) {
	w.t.Helper()
	harness.Eventually(w.t, "Flux fails to apply "+commit, func() error {
		k, err := w.kustomization()
		if err != nil {
			return err
		}
		revision, _, _ := unstructured.NestedString(k.Object, "status", "lastAttemptedRevision")
		if !strings.HasSuffix(revision, "@sha1:"+commit) || !strings.HasPrefix(conditions(k), "Ready=False") {
			return fmt.Errorf("it has tried %q, and is %s", revision, conditions(k))
		}
		return nil
	})
}
