package flux

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/internal/kustomizer"
)

// PostRender applies the release's post-renderers to all objects of a chart, because a patch may target an object that
// agentry does not read.
func (r *HelmRelease) PostRender(docs []helm.Document) ([]helm.Document, error) {
	for i, renderer := range r.Spec.PostRenderers {
		if renderer.Kustomize == nil {
			continue
		}
		field := fmt.Sprintf("spec.postRenderers[%d].kustomize", i)
		for j, p := range renderer.Kustomize.Patches {
			if p.Path != "" {
				return nil, problem(fmt.Sprintf("%s.patches[%d]", field, j), "", "a patch cannot be a file")
			}
		}
		var err error
		if docs, err = applyKustomization(docs,
			types.Kustomization{Patches: renderer.Kustomize.Patches, Images: renderer.Kustomize.Images}); err != nil {
			return nil, problem(field, "each patch must match an object of the chart",
				"kustomize cannot apply it to the chart's objects")
		}
	}
	return docs, nil
}

// applyKustomization applies a kustomization to documents and keeps the template of each. The error can quote values.
func applyKustomization(docs []helm.Document, k types.Kustomization) (out []helm.Document, err error) {
	files := filesys.MakeFsInMemory()
	for i, d := range docs {
		name := strconv.Itoa(i) + ".yaml"
		if err := files.WriteFile("/"+name, []byte(d.Text)); err != nil {
			return nil, err
		}
		k.Resources = append(k.Resources, name)
	}
	k.TypeMeta = types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}
	k.BuildMetadata = []string{types.OriginAnnotations}
	text, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	if err := files.WriteFile("/kustomization.yaml", text); err != nil {
		return nil, err
	}
	var built resmap.ResMap
	err = kustomizer.Run(false, func() (err error) {
		built, err = krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, r := range built.Resources() {
		origin, err := r.GetOrigin()
		if err != nil {
			return nil, err
		}
		i, err := strconv.Atoi(strings.TrimSuffix(path.Base(origin.Path), ".yaml"))
		if err != nil {
			return nil, err
		}
		if err := r.SetOrigin(nil); err != nil {
			return nil, err
		}
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		d := docs[i]
		d.Text, d.Kind, d.APIVersion = string(text), r.GetKind(), r.GetApiVersion()
		out = append(out, d)
	}
	return out, nil
}
