package flux

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// report lets Flux report what it applies, as the page says.
func (w *testbed) report() {
	w.t.Helper()
	page := gitops.NewPage(w.t, "delivery.md")
	text := strings.ReplaceAll(page.Find("yaml", "kind: Provider"), "https://agentry.example.com",
		"http://"+gitops.HookAddress)
	text += fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: agentry-delivery, namespace: %s}\n"+
		"stringData: {token: %s}\n", fluxSystem, gitops.DeliveryToken)
	for _, o := range harness.Decode(w.t, []byte(text)) {
		if err := w.Apply(w.t, o, false); err != nil {
			w.t.Fatal(err)
		}
	}
}

// delivered follows a commit into the cluster: Flux applies it and finds it healthy, then fails, and recovers.
func (w *testbed) delivered(t *testing.T) {
	w.report()
	w.edit("team-shop/monitors.yaml", "interval: 45s", "interval: 46s")
	s := w.settled(w.push("Look who applies this"))
	expect := func(state, message string) {
		t.Helper()
		gitops.Delivered(t, "prod", s.Output.Commit, "prod-eu", state, message)
	}
	expect("healthy", "")
	patch := func(path string) {
		t.Helper()
		resource, err := w.Resource(w.output)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resource.Patch(t.Context(), w.output.GetName(), types.MergePatchType,
			fmt.Appendf(nil, `{"spec": {"path": %q}}`, path), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch("./nowhere")
	expect("failed", "kustomization path not found")
	patch("./")
	expect("applied", "")
	w.edit("team-shop/monitors.yaml", "interval: 46s", "interval: 45s")
	s = w.settled(w.push("As it was"))
	expect("healthy", "")
}
