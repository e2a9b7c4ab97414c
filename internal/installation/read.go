package installation

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/kubelist"
)

// Installation has the objects of an export.
type Installation struct {
	objects map[manifest.ID]*unstructured.Unstructured
	ids     []manifest.ID // sorted
}

// Read parses an export, as [kubelist.Read] does. Of several copies of an object it keeps the first.
func Read(export []byte) (*Installation, error) {
	in := &Installation{objects: map[manifest.ID]*unstructured.Unstructured{}}
	err := kubelist.Read(export, func(o *unstructured.Unstructured) error {
		in.add(o)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(in.ids, manifest.ID.Compare)
	return in, nil
}

// Of returns an installation with the given objects.
func Of(objects []*unstructured.Unstructured) *Installation {
	in := &Installation{objects: map[manifest.ID]*unstructured.Unstructured{}}
	for _, o := range objects {
		in.add(o)
	}
	slices.SortFunc(in.ids, manifest.ID.Compare)
	return in
}

func (in *Installation) add(o *unstructured.Unstructured) {
	if isForeign(o) {
		return
	}
	id := manifest.ID{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	if in.objects[id] == nil {
		in.objects[id] = o
		in.ids = append(in.ids, id)
	}
}

// kindGroups are the API groups of the kinds that are read.
var kindGroups = sync.OnceValue(func() map[string]string {
	const apps, rbac = "apps", "rbac.authorization.k8s.io"
	out := map[string]string{}
	for _, kind := range manifest.Kinds() {
		out[kind] = v1alpha1.Group
	}
	maps.Copy(out, map[string]string{"Secret": "", "ConfigMap": "", manifest.NamespaceKind: "", "ServiceAccount": "",
		"StatefulSet": apps, "DaemonSet": apps, "Deployment": apps,
		"Role": rbac, "RoleBinding": rbac, "ClusterRole": rbac, "ClusterRoleBinding": rbac,
		"CustomResourceDefinition": "apiextensions.k8s.io",
		"Kustomization":            "kustomize.toolkit.fluxcd.io", "HelmRelease": "helm.toolkit.fluxcd.io"})
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig"} {
		out[kind] = "monitoring.coreos.com"
	}
	return out
})

// isForeign reports whether an object is of another API group that has a kind of the same name, such as an Integration
// of Camel K.
func isForeign(o *unstructured.Unstructured) bool {
	group, isRead := kindGroups()[o.GetKind()]
	return isRead && o.GroupVersionKind().Group != group
}

// Len returns the number of objects.
func (in *Installation) Len() int { return len(in.ids) }

// of returns the objects of a kind, sorted.
func (in *Installation) of(kinds ...string) (out []*unstructured.Unstructured) {
	for _, id := range in.ids {
		if slices.Contains(kinds, id.Kind) {
			out = append(out, in.objects[id])
		}
	}
	return out
}

// clean returns an object without the fields that only the API server or the applying tool sets.
func clean(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	delete(out.Object, "status")
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "generation", "creationTimestamp",
		"selfLink", "ownerReferences",
		"finalizers", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	annotations := out.GetAnnotations()
	for _, name := range []string{"kubectl.kubernetes.io/last-applied-configuration", "meta.helm.sh/release-name",
		"meta.helm.sh/release-namespace",
		"argocd.argoproj.io/tracking-id", "kustomize.toolkit.fluxcd.io/checksum"} {
		delete(annotations, name)
	}
	if len(annotations) == 0 {
		unstructured.RemoveNestedField(out.Object, "metadata", "annotations")
	} else {
		out.SetAnnotations(annotations)
	}
	switch out.GetKind() {
	case manifest.NamespaceKind:
		delete(out.Object, "spec")
		unstructured.RemoveNestedField(out.Object, "metadata", "labels", corev1.LabelMetadataName)
	case "ServiceAccount":
		delete(out.Object, "secrets") // tokens that the cluster created
	}
	if len(out.GetLabels()) == 0 {
		unstructured.RemoveNestedField(out.Object, "metadata", "labels")
	}
	return out
}
