package flux

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// kustomization is Flux's view of the output branch.
func (w *testbed) kustomization() (*unstructured.Unstructured, error) {
	return w.live(w.output)
}

// live is an object as the API server has it.
func (w *testbed) live(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := w.Resource(o)
	if err != nil {
		return nil, err
	}
	return resource.Get(w.t.Context(), o.GetName(), metav1.GetOptions{})
}

// inCluster are the objects of the branch as the API server has them. Flux applies them, and no
// others.
func (w *testbed) inCluster() gitops.Objects {
	w.t.Helper()
	k, err := w.kustomization()
	if err != nil {
		w.t.Fatal(err)
	}
	entries, _, _ := unstructured.NestedSlice(k.Object, "status", "inventory", "entries")
	out := gitops.Objects{}
	for name, o := range w.forge.Manifests(w.t, w.branch) {
		if out[name], err = w.live(o); err != nil {
			w.t.Fatal(err)
		}
	}
	if len(entries) != len(out) {
		w.t.Fatalf("Flux has applied %d objects, not %q: %v", len(entries), out.Names(), entries)
	}
	return out
}

// applied waits until Flux has applied a commit of the output branch.
func (w *testbed) applied(commit string) {
	w.t.Helper()
	harness.Eventually(w.t, "Flux applies "+commit, func() error {
		k, err := w.kustomization()
		if err != nil {
			return err
		}
		revision, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
		if !isReady(k) || !strings.HasSuffix(revision, "@sha1:"+commit) {
			return fmt.Errorf("it has applied %q, and is %s", revision, conditions(k))
		}
		return nil
	})
}

func isReady(o *unstructured.Unstructured) bool {
	return strings.HasPrefix(conditions(o), "Ready=True")
}

// conditions are those of an object of Flux, Ready first.
func conditions(o *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var out []string
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			text := fmt.Sprintf("%s=%s (%s: %s)", c["type"], c["status"], c["reason"], c["message"])
			if c["type"] == "Ready" {
				out = slices.Insert(out, 0, text)
			} else {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, ", ")
}
