package installation

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/argocd"
)

// State returns the files that describe what the cluster has and Git may not: the folder that spec.build.cluster of a
// pipeline names. They are the labels of Namespaces, the API versions, and the ConfigMaps and Secrets that
// Kustomizations and HelmReleases of Flux refer to, or that declare clusters to Argo CD. Secrets have their keys
// without values, but for what names a cluster. apiVersions are in addition to those that CustomResourceDefinitions of
// the installation define.
func (in *Installation) State(apiVersions []string) ([]File, error) {
	var files []File
	add := func(o *unstructured.Unstructured, comment string, content map[string]any) error {
		text, err := yaml.Marshal(content)
		if err != nil {
			return fmt.Errorf("%s: %w", idOf(o), err)
		}
		files = append(files, File{Path: pathOf(idOf(o)), Data: append([]byte(comment), text...)})
		return nil
	}
	for _, o := range in.of(manifest.NamespaceKind) {
		if err := add(o, "", clean(o).Object); err != nil {
			return nil, err
		}
	}
	wanted := in.referredByFlux()
	for _, o := range in.of("ConfigMap") {
		if wanted[idOf(o)] {
			if err := add(o, "", clean(o).Object); err != nil {
				return nil, err
			}
		}
	}
	for _, o := range in.of("Secret") {
		comment := "# The keys of a Secret, without values. A value that is not secret can be filled in.\n"
		switch {
		case argocd.IsCluster(o.Object):
			comment = "# A cluster of Argo CD, without its credentials and annotations. " +
				"Add those that ApplicationSets use.\n"
		case !wanted[idOf(o)]:
			continue
		}
		if err := add(o, comment, stubOf(o)); err != nil {
			return nil, err
		}
	}
	if versions := in.apiVersions(apiVersions); len(versions) > 0 {
		files = append(files, File{Path: inputs.APIVersionsFile, Data: []byte(strings.Join(versions, "\n") + "\n")})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// stubOf returns a Secret with its keys, without values, and the labels by which it is found. Annotations can hold
// values. What names a cluster of Argo CD is no secret.
func stubOf(o *unstructured.Unstructured) map[string]any {
	keys := map[string]any{}
	for _, field := range []string{"data", "stringData"} {
		values, _, _ := unstructured.NestedMap(o.Object, field)
		for key := range values {
			keys[key] = ""
		}
	}
	if argocd.IsCluster(o.Object) {
		for key, value := range argocd.ParseCluster(o.Object).Names() {
			if _, has := keys[key]; has {
				keys[key] = value
			}
		}
	}
	meta := map[string]any{"name": o.GetName(), "namespace": o.GetNamespace()}
	if labels := o.GetLabels(); len(labels) > 0 {
		meta["labels"] = labels
	}
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": keys}
}

// referredByFlux returns the ConfigMaps and Secrets that Kustomizations and HelmReleases take variables and values
// from.
func (in *Installation) referredByFlux() map[manifest.ID]bool {
	out := map[manifest.ID]bool{}
	for kind, field := range map[string][]string{
		"Kustomization": {"spec", "postBuild", "substituteFrom"}, "HelmRelease": {"spec", "valuesFrom"},
	} {
		for _, o := range in.of(kind) {
			refs, _, _ := unstructured.NestedSlice(o.Object, field...)
			for _, ref := range refs {
				of, _ := ref.(map[string]any)
				out[manifest.ID{Kind: fmt.Sprint(of["kind"]), Namespace: o.GetNamespace(),
					Name: fmt.Sprint(of["name"])}] = true
			}
		}
	}
	return out
}

// apiVersions returns the API versions that charts can ask for, sorted: GROUP/VERSION and GROUP/VERSION/KIND.
func (in *Installation) apiVersions(more []string) []string {
	out := slices.Clone(more)
	for _, crd := range in.of("CustomResourceDefinition") {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			if name := fmt.Sprint(version["name"]); group != "" && version["served"] == true {
				out = append(out, path.Join(group, name), path.Join(group, name, kind))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
