package adoption

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// TestObjectsWithoutHandoverAreDeletedWithTheirOwner shows what the procedure is for: applying the branch takes nothing
// from its owners, and they take it with them.
func TestObjectsWithoutHandoverAreDeletedWithTheirOwner(t *testing.T) {
	w := newTestbed(t)
	defer w.deleteDefinitions(t)
	c := readCase(t, "real-cloud-quickstart")
	_, rendered := c.render(t, "operator", "plaintext")
	for _, test := range []struct {
		name   string
		delete func(t *testing.T)
		stays  bool
	}{
		{"deleted in the background", func(t *testing.T) {
			w.deleteCustom(t, c, metav1.DeletePropagationBackground)
		}, false},
		{"deleted by a tool that waits for what is owned", func(t *testing.T) {
			w.deleteCustom(t, c, metav1.DeletePropagationForeground)
		}, false},
		{"deleted as orphans' parents", func(t *testing.T) {
			w.deleteCustom(t, c, metav1.DeletePropagationOrphan)
		}, true},
		{"deleted with their definitions", w.deleteDefinitions, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.remove(t, rendered...)
			if err := w.install(t, c); err != nil {
				t.Fatal(err)
			}
			w.settled(t, c.operator)
			for _, o := range rendered {
				owned := len(w.fluxApply(t, o).GetOwnerReferences()) > 0
				if ours := strings.HasSuffix(o.GetName(), "-integrations-sd"); owned == ours {
					t.Errorf("%s is owned: %v", id(o), owned)
				}
			}
			applied := w.settled(t, rendered)
			test.delete(t)
			if test.stays {
				for name, a := range applied {
					harness.Eventually(t, name+" is let go", func() error { return w.owned(t, a.object) })
				}
				w.stays(t, applied)
				return
			}
			for _, o := range c.operator {
				w.gone(t, o)
			}
		})
	}
}

// TestReferenceVolumesNeedTheHandover: as long as the operator's fields are the operator's, a volume
// that becomes another kind of volume is both, and refused.
func TestReferenceVolumesNeedTheHandover(t *testing.T) {
	w := newTestbed(t)
	defer w.deleteDefinitions(t)
	c := readCase(t, "real-cloud-quickstart")
	if err := w.install(t, c); err != nil {
		t.Fatal(err)
	}
	w.settled(t, c.operator)
	_, rendered := c.render(t, "operator", "reference")
	i := slices.IndexFunc(rendered, func(o *unstructured.Unstructured) bool { return o.GetKind() == "StatefulSet" })
	if _, err := w.ApplyAs(t, rendered[i], fluxOptions()); err == nil ||
		!strings.Contains(err.Error(), "may not specify more than 1 volume type") {
		t.Errorf("applied before it is handed over: %v", err)
	}
	w.handOver(t, c)
	w.takesReferences(t, c)
}
