package adoption

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// testbed is the API server as users and the operator see it.
type testbed struct {
	*harness.Applier
}

// adopted is an object in the cluster, as it must stay.
type adopted struct {
	object    *unstructured.Unstructured
	revisions []string // of a workload's pods; not looked at if there are none
}

// newTestbed installs the operator's definitions, and starts the controllers that then matter.
func newTestbed(t *testing.T) testbed {
	t.Helper()
	w := testbed{cluster.NewApplier(t)}
	for _, crd := range definitions(t) {
		if _, err := w.create(t, crd, "helm"); err != nil {
			t.Fatal(err)
		}
	}
	for _, crd := range definitions(t) {
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		harness.Eventually(t, "serve "+crd.GetName(), func() error { return w.Knows(kind) })
	}
	cluster.Controllers(t, "garbage-collector-controller", "statefulset-controller", "daemonset-controller",
		"deployment-controller", "replicaset-controller")
	return w
}

func definitions(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text, err := harness.OperatorCRDs()
	if err != nil {
		t.Fatal(err)
	}
	crds := harness.Decode(t, text)
	if len(crds) != 8 {
		t.Fatalf("the operator has 8 definitions, not %d", len(crds))
	}
	return crds
}

// install creates a case, in place of what is there: the custom resources as their users would,
// and as the operator what it makes of them. The error is what the API server does not take.
func (w testbed) install(t *testing.T, c conformance) error {
	t.Helper()
	w.remove(t, slices.Concat(c.custom, c.operator)...)
	for _, o := range c.operator {
		harness.Eventually(t, "nothing left of "+id(o), func() error { return w.leftOf(t, o) })
	}
	owners := map[string]types.UID{}
	for _, o := range c.custom {
		cluster.OpenNamespaces(t, o.GetNamespace())
		live, err := w.create(t, o, "kubectl-create")
		if err != nil {
			return err
		}
		owners[id(o)] = live.GetUID()
	}
	for _, o := range c.operator {
		o = o.DeepCopy()
		references := o.GetOwnerReferences()
		if len(references) == 0 {
			t.Fatalf("the operator owns nothing without a reference, but %s", id(o))
		}
		for i, r := range references {
			references[i].UID = owners[r.Kind+"/"+o.GetNamespace()+"/"+r.Name]
		}
		o.SetOwnerReferences(references)
		w.account(t, o)
		if _, err := w.create(t, o, operatorManager); err != nil {
			return err
		}
	}
	return nil
}

// leftOf is an error as long as something is there that a workload, which is gone, made: one of
// the same name would take it for its own, until the garbage collector takes it away.
func (w testbed) leftOf(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()
	if !isWorkload(o) {
		return nil
	}
	client, options := cluster.Client(t), metav1.ListOptions{}
	var found []metav1.Object
	revisions, err := client.AppsV1().ControllerRevisions(o.GetNamespace()).List(t.Context(), options)
	if err != nil {
		return err
	}
	for _, r := range revisions.Items {
		found = append(found, &r)
	}
	sets, err := client.AppsV1().ReplicaSets(o.GetNamespace()).List(t.Context(), options)
	if err != nil {
		return err
	}
	for _, s := range sets.Items {
		found = append(found, &s)
	}
	pods, err := client.CoreV1().Pods(o.GetNamespace()).List(t.Context(), options)
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		found = append(found, &p)
	}
	for _, f := range found {
		owner := metav1.GetControllerOf(f)
		if owner == nil {
			continue
		}
		hash, ofDeployment := strings.CutPrefix(owner.Name, o.GetName()+"-")
		ofDeployment = ofDeployment && owner.Kind == "ReplicaSet" && o.GetKind() == "Deployment" &&
			!strings.Contains(hash, "-")
		if ofDeployment || owner.Kind == o.GetKind() && owner.Name == o.GetName() {
			return fmt.Errorf("%s of %s %s is there", f.GetName(), owner.Kind, owner.Name)
		}
	}
	return nil
}

// account makes the service account of a workload's pods, which the operator leaves to its users.
func (w testbed) account(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	name, _, _ := unstructured.NestedString(o.Object, "spec", "template", "spec", "serviceAccountName")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(name, "default")}}
	_, err := cluster.Client(t).CoreV1().ServiceAccounts(o.GetNamespace()).Create(t.Context(), account,
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// settled are objects as they are, once the controllers have looked at them.
func (w testbed) settled(t *testing.T, objects []*unstructured.Unstructured) map[string]adopted {
	t.Helper()
	out := map[string]adopted{}
	for _, o := range objects {
		var a adopted
		harness.Eventually(t, "a controller for "+id(o), func() (err error) {
			if a.object, err = w.get(t, o); err != nil {
				return err
			}
			_, noted := a.object.GetAnnotations()["deployment.kubernetes.io/revision"]
			if a.revisions = w.revisions(t, a.object); isWorkload(o) && len(a.revisions) == 0 ||
				o.GetKind() == "Deployment" && !noted {
				return errors.New("it has no revision yet")
			}
			return nil
		})
		out[id(o)] = a
	}
	return out
}

func isWorkload(o *unstructured.Unstructured) bool {
	return slices.Contains([]string{"StatefulSet", "DaemonSet", "Deployment"}, o.GetKind())
}

// revisions are the states of a workload's pod template that controllers have noted.
func (w testbed) revisions(t *testing.T, o *unstructured.Unstructured) (names []string) {
	t.Helper()
	apps, options := cluster.Client(t).AppsV1(), metav1.ListOptions{}
	switch o.GetKind() {
	case "StatefulSet", "DaemonSet":
		list, err := apps.ControllerRevisions(o.GetNamespace()).List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Items {
			if metav1.IsControlledBy(&r, o) {
				names = append(names, fmt.Sprintf("%s at %d", r.Name, r.Revision))
			}
		}
	case "Deployment":
		list, err := apps.ReplicaSets(o.GetNamespace()).List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Items {
			if metav1.IsControlledBy(&r, o) {
				names = append(names, r.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// stays: objects are those that they were, nobody owns them, and nothing was rolled out.
func (w testbed) stays(t *testing.T, objects map[string]adopted) {
	t.Helper()
	for name, a := range objects {
		live, err := w.get(t, a.object)
		if err != nil {
			t.Errorf("%s is gone: %v", name, err)
			continue
		}
		if live.GetUID() != a.object.GetUID() {
			t.Errorf("%s is another one", name)
		}
		if live.GetDeletionTimestamp() != nil || len(live.GetOwnerReferences()) > 0 {
			t.Errorf("%s is being deleted (%v) or owned: %v", name, live.GetDeletionTimestamp(),
				live.GetOwnerReferences())
		}
		if now := w.revisions(t, live); a.revisions != nil && !slices.Equal(now, a.revisions) {
			t.Errorf("%s was rolled out: %v, before %v", name, now, a.revisions)
		}
	}
}

// operatorManager is whom the API server notes as the author of what the operator writes.
const operatorManager = "grafana-agent-operator"

// handOverTo takes an object from its owners, and gives the fields that the operator wrote to who
// applies it from now on, so that what is no longer applied goes. It is the patch that
// docs/migration.md has people type.
func (w testbed) handOverTo(t *testing.T, manager string, o *unstructured.Unstructured) {
	t.Helper()
	i := slices.IndexFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == operatorManager
	})
	patch := fmt.Sprintf(`[{"op": "add", "path": "/metadata/ownerReferences", "value": []},
		{"op": "replace", "path": "/metadata/managedFields/%d/manager", "value": %q},
		{"op": "replace", "path": "/metadata/managedFields/%d/operation", "value": "Apply"}]`, i, manager, i)
	resource, err := w.Resource(o)
	if err == nil {
		_, err = resource.Patch(t.Context(), o.GetName(), types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	}
	if err != nil {
		t.Fatalf("hand over %s: %v", id(o), err)
	}
}

// deleteCustom deletes the custom resources of a case, and waits until the garbage collector has
// done what that means: for something else that each GrafanaAgent owns.
func (w testbed) deleteCustom(t *testing.T, c conformance, policy metav1.DeletionPropagation) {
	t.Helper()
	var canaries []*unstructured.Unstructured
	for _, o := range c.custom {
		if o.GetKind() == "GrafanaAgent" {
			canaries = append(canaries, w.canary(t, o))
		}
	}
	for _, o := range c.custom {
		resource, err := w.Resource(o)
		if err == nil {
			err = resource.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range c.custom {
		w.gone(t, o)
	}
	for _, canary := range canaries {
		if policy != metav1.DeletePropagationOrphan {
			w.gone(t, canary)
		}
	}
}

// canary makes an object that a GrafanaAgent owns as it does what the operator makes.
func (w testbed) canary(t *testing.T, agent *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	live, err := w.get(t, agent)
	if err != nil {
		t.Fatal(err)
	}
	canary := &unstructured.Unstructured{}
	canary.SetAPIVersion("v1")
	canary.SetKind("ConfigMap")
	canary.SetNamespace(agent.GetNamespace())
	canary.SetName("canary-" + agent.GetName())
	canary.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(live, live.GroupVersionKind())})
	if _, err := w.create(t, canary, operatorManager); err != nil {
		t.Fatal(err)
	}
	return canary
}

// deleteDefinitions deletes the operator's definitions, and all that is of these kinds.
func (w testbed) deleteDefinitions(t *testing.T) {
	t.Helper()
	w.remove(t, definitions(t)...)
}

// remove deletes objects that may be there, and waits until they are not.
func (w testbed) remove(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	for _, o := range objects {
		resource, err := w.Resource(o)
		if err == nil {
			err = resource.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	for _, o := range objects {
		w.gone(t, o)
	}
}

// owned is an error as long as an object has owners.
func (w testbed) owned(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()
	live, err := w.get(t, o)
	if err != nil {
		return err
	}
	if owners := live.GetOwnerReferences(); len(owners) > 0 {
		return fmt.Errorf("its owners are %v", owners)
	}
	return nil
}

func (w testbed) gone(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	harness.Eventually(t, id(o)+" goes", func() error {
		live, err := w.get(t, o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: finalizers %v, owners %v, %w", live.GetFinalizers(), live.GetOwnerReferences(),
			err)
	})
}

func (w testbed) get(t *testing.T, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	resource, err := w.Resource(o)
	if err != nil {
		return nil, err
	}
	return resource.Get(t.Context(), o.GetName(), metav1.GetOptions{})
}

// create makes an object in somebody's name.
func (w testbed) create(t *testing.T, o *unstructured.Unstructured, manager string) (*unstructured.Unstructured,
	error) {
	t.Helper()
	resource, err := w.Resource(o)
	if err != nil {
		return nil, err
	}
	return resource.Create(t.Context(), o, metav1.CreateOptions{FieldManager: manager})
}

// id is what an object is known by.
func id(o *unstructured.Unstructured) string {
	return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
}
