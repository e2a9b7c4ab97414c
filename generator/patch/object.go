package patch

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
)

// maxBriefBytes limits what is kept of an error of kustomize.
const maxBriefBytes = 300

func factory() *resource.Factory { return provider.NewDefaultDepProvider().GetResourceFactory() }

// idOf returns kustomize's ID of a rendered object.
func idOf(o workload.Resource) resid.ResId {
	kind := o.GetObjectKind().GroupVersionKind()
	return resid.NewResIdWithNamespace(resid.NewGvk(kind.Group, kind.Version, kind.Kind), o.GetName(), o.GetNamespace())
}

// read returns an object as a list for kustomize.
func read(o workload.Resource) (resmap.ResMap, error) {
	fields, err := workload.Fields(o)
	if err != nil {
		return nil, err
	}
	r, err := factory().FromMap(fields)
	if err != nil {
		return nil, err
	}
	list := resmap.New()
	return list, list.Append(r)
}

// isGone reports whether a patch removed the object of a list.
func isGone(list resmap.ResMap) bool { return list.Size() != 1 || list.Resources()[0].IsNilOrEmpty() }

// write returns the fields of a changed object.
func write(id manifest.ID, list resmap.ResMap) (map[string]any, error) {
	list.RemoveBuildAnnotations()
	if isGone(list) {
		return nil, errors.New("removes the object: what is rendered follows from the GrafanaAgent")
	}
	object, err := list.Resources()[0].Map()
	if err != nil {
		return nil, errors.New("leaves an object that cannot be read")
	}
	meta, _ := object["metadata"].(map[string]any)
	if namespace, _ := meta["namespace"].(string); object["kind"] != id.Kind || meta["name"] != id.Name ||
		namespace != id.Namespace {
		return nil, fmt.Errorf(
			"renames the object to %v %v/%v: its name, namespace and kind must stay, because others refer to them",
			object["kind"], meta["namespace"], meta["name"])
	}
	for field := range object {
		if id.Kind == "Secret" && field != "apiVersion" && field != "kind" && field != "metadata" {
			return nil, fmt.Errorf("sets %s of a Secret: only its metadata can be patched", field)
		}
	}
	return object, nil
}

// typed returns a changed object as the type of the one that it is made of. It is an error of the change if the type
// lacks a field.
func typed(original workload.Resource, object map[string]any) (workload.Resource, diag.List) {
	changed := reflect.New(reflect.TypeOf(original).Elem()).Interface().(workload.Resource)
	wrong := manifest.Convert(object, changed)
	for i, d := range wrong {
		wrong[i] = diag.InvalidObject.At("", "Kubernetes would refuse it: %s", d.Problem()).As(diag.Error).
			WithHint(d.Hint)
	}
	return changed, wrong
}

// brief returns the first line of an error of kustomize, which can quote a whole patch.
func brief(err error) string {
	text, _, _ := strings.Cut(diag.Plain(err.Error()), "\n")
	if len(text) > maxBriefBytes {
		text = strings.ToValidUTF8(text[:maxBriefBytes], "") + "..."
	}
	return text
}
