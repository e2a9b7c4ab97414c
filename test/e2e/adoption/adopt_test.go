package adoption

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

func TestEveryCaseIsAdopted(t *testing.T) {
	w := newTestbed(t)
	defer w.deleteDefinitions(t)
	left := map[string]adopted{}
	defer func() {
		for _, a := range left {
			w.remove(t, a.object)
		}
	}()
	for _, c := range conformanceCases(t) {
		t.Run(c.name, func(t *testing.T) { w.adopt(t, c, left) })
	}
	t.Run("and outlives the definitions", func(t *testing.T) {
		w.deleteDefinitions(t)
		w.stays(t, left)
		kinds := map[string]int{}
		for _, a := range left {
			kinds[a.object.GetKind()]++
		}
		t.Logf("objects: %v", kinds)
		for _, kind := range []string{"Secret", "Service", "StatefulSet", "DaemonSet", "Deployment"} {
			if kinds[kind] < 5 {
				t.Errorf("only %d are %ss", kinds[kind], kind)
			}
		}
	})
}

// adopt takes a case from the operator to agentry. What is in the cluster then is added to left.
func (w testbed) adopt(t *testing.T, c conformance, left map[string]adopted) {
	dir, rendered := c.render(t, "operator", "plaintext")
	w.remove(t, rendered...)
	for _, o := range slices.Concat(c.operator, rendered) { // Of an earlier case.
		delete(left, id(o))
	}
	err := w.install(t, c)
	if says := refusals()[c.name]; err != nil || says != "" {
		if says == "" || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the API server says: %v\nlisted is: %s", err, says)
		}
		w.remove(t, slices.Concat(c.custom, c.operator)...)
		return
	}
	before := w.handOver(t, c)
	w.takesReferences(t, c)

	if len(rendered) > 0 {
		applied := w.kubectlApply(t, dir)
		expect(t, "kubectl apply", c.name, changes(t, before, applied))
	}
	var applied []*unstructured.Unstructured
	for _, o := range rendered {
		applied = append(applied, w.fluxApply(t, o))
	}
	expect(t, "Flux", c.name, changes(t, before, applied))
	for i, o := range rendered {
		again := differences(t, applied[i], w.fluxApply(t, o))
		if len(changed(again, "metadata.annotations[deployment.kubernetes.io/")) < len(again) { // The controller's.
			t.Errorf("%s changes when it is applied once more: %v", id(o), again)
		}
	}
	w.switchMode(t, c, applied)

	set := w.settled(t, slices.Concat(c.operator, applied))
	for name, was := range before {
		now := set[name]
		if now.revisions = was.revisions; len(changed(differences(t, was.object, now.object), "spec.template")) > 0 {
			now.revisions = nil // Listed, or an error by now.
		}
		set[name] = now
	}
	w.deleteCustom(t, c, metav1.DeletePropagationBackground)
	w.stays(t, set)
	for name, a := range set {
		left[name] = a
	}
}

// switchMode applies what mode current makes of a case over what mode operator made of it: texts of configurations
// and of Secrets change, and nothing else, so that no pod is replaced.
func (w testbed) switchMode(t *testing.T, c conformance, applied []*unstructured.Unstructured) {
	t.Helper()
	before := map[string]*unstructured.Unstructured{}
	for _, o := range applied {
		before[id(o)] = o
	}
	_, rendered := c.render(t, "current", "plaintext")
	for _, o := range rendered {
		was := before[id(o)]
		if was == nil {
			t.Errorf("only mode current has %s", id(o))
			continue
		}
		found := differences(t, was, w.fluxApply(t, o))
		if rest := slices.DeleteFunc(found, func(d string) bool {
			return o.GetKind() == "Secret" && strings.HasPrefix(d[1:], "data") ||
				strings.HasPrefix(d[1:], "metadata.annotations[deployment.kubernetes.io/")
		}); len(rest) > 0 {
			t.Errorf("in mode current, %s has %v", id(o), rest)
		}
	}
}

// changed are the differences at or below a field.
func changed(differences []string, field string) []string {
	return slices.DeleteFunc(slices.Clone(differences), func(d string) bool { return !strings.HasPrefix(d[1:], field) })
}

// handOver gives a case's objects to Flux, as docs/migration.md does. That changes nothing but
// who owns them.
func (w testbed) handOver(t *testing.T, c conformance) map[string]adopted {
	t.Helper()
	owned := w.settled(t, c.operator)
	for _, a := range owned {
		w.handOverTo(t, "kustomize-controller", a.object)
	}
	free := w.settled(t, c.operator)
	for name, a := range free {
		rest := slices.DeleteFunc(differences(t, owned[name].object, a.object), func(d string) bool {
			return strings.HasPrefix(d, "-metadata.ownerReferences")
		})
		if len(rest) > 0 {
			t.Errorf("handing over %s changes %v", name, rest)
		}
	}
	return free
}

// takesReferences: with the other secrets policy pods are replaced, but nothing is in the way.
func (w testbed) takesReferences(t *testing.T, c conformance) {
	t.Helper()
	_, rendered := c.render(t, "operator", "reference")
	for _, o := range rendered {
		options := fluxOptions()
		options.DryRun = []string{metav1.DryRunAll}
		if _, err := w.ApplyAs(t, o, options); err != nil {
			t.Errorf("with references, %s: %v", id(o), err)
		}
	}
}

// fluxOptions are those of Flux's kustomize-controller.
func fluxOptions() metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: "kustomize-controller", Force: true}
}

// fluxApply applies an object as Flux does.
func (w testbed) fluxApply(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	applied, err := w.ApplyAs(t, o, fluxOptions())
	if err != nil {
		t.Fatalf("%s: %v", id(o), err)
	}
	return applied
}

// kubectlApply is what would become of a folder that kubectl applies, which merges at its end as
// Argo CD does.
func (w testbed) kubectlApply(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	out := cluster.NewShell(t, dir).Must("kubectl apply -k . --dry-run=server -o yaml")
	var items []*unstructured.Unstructured
	for _, o := range harness.Decode(t, []byte(out)) {
		if list, err := o.ToList(); o.IsList() && err == nil {
			for _, item := range list.Items {
				items = append(items, &item)
			}
			continue
		}
		items = append(items, o)
	}
	for _, o := range items {
		annotations := o.GetAnnotations()
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration") // kubectl's own
		o.SetAnnotations(annotations)
	}
	return items
}

// changes are in what way objects are not what they were before.
func changes(t *testing.T, before map[string]adopted, after []*unstructured.Unstructured) []string {
	t.Helper()
	var out []string
	seen := map[string]bool{}
	for _, o := range after {
		seen[id(o)] = true
		was, found := before[id(o)]
		if !found {
			out = append(out, "new "+id(o))
			continue
		}
		for _, d := range differences(t, was.object, o) {
			out = append(out, fmt.Sprintf("%s %s", id(o), d))
		}
	}
	for name := range before {
		if !seen[name] {
			out = append(out, "not rendered "+name)
		}
	}
	slices.Sort(out)
	return out
}
