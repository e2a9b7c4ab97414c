package installation

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// MaxBytes limits an export.
const MaxBytes = 512 << 20

// Installation has the objects of an export.
type Installation struct {
	objects map[manifest.ID]*unstructured.Unstructured
	ids     []manifest.ID // sorted
}

// Read parses an export: documents of YAML or JSON, each an object or a List. Of several copies of an object it keeps
// the first.
func Read(export []byte) (*Installation, error) {
	in := &Installation{objects: map[manifest.ID]*unstructured.Unstructured{}}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(export)))
	for n := 1; ; n++ {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var object map[string]any
		if err == nil {
			err = yaml.Unmarshal(text, &object)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d is not YAML as kubectl prints it", n) // the error could quote a Secret
		}
		if object == nil {
			continue
		}
		if err := in.add(&unstructured.Unstructured{Object: object}); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
	}
	slices.SortFunc(in.ids, manifest.ID.Compare)
	return in, nil
}

// Of returns an installation with the given objects.
func Of(objects []*unstructured.Unstructured) (*Installation, error) {
	in := &Installation{objects: map[manifest.ID]*unstructured.Unstructured{}}
	for _, o := range objects {
		if err := in.add(o); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(in.ids, manifest.ID.Compare)
	return in, nil
}

func (in *Installation) add(o *unstructured.Unstructured) error {
	if o.IsList() {
		return o.EachListItem(func(item k8sruntime.Object) error { return in.add(item.(*unstructured.Unstructured)) })
	}
	id := manifest.ID{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	if id.Kind == "" || id.Name == "" {
		return errors.New("an item is not an object: it lacks a kind or a name")
	}
	if in.objects[id] == nil {
		in.objects[id] = o
		in.ids = append(in.ids, id)
	}
	return nil
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
