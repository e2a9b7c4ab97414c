package flux

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
)

// PostRender applies the release's post-renderers to all objects of a chart, because a patch may target an object that
// agentry does not read.
func (r *HelmRelease) PostRender(ctx context.Context, docs []helm.Document, by *kustomizer.Workers) ([]helm.Document,
	error) {
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
		job, err := patchJob(docs,
			types.Kustomization{Patches: renderer.Kustomize.Patches, Images: renderer.Kustomize.Images})
		if err != nil {
			return nil, err
		}
		built, err := by.Build(ctx, job, 0, func(string) kustomizer.Entry { return kustomizer.Entry{} })
		failure, isFailure := errors.AsType[*kustomizer.Failure](err)
		switch {
		case isFailure:
			return nil, problem(field, "make the patches simpler", "applying it to the chart's objects %s", failure)
		case err != nil:
			return nil, err
		case built.Refusal != "":
			return nil, problem(field, "each patch must match an object of the chart",
				"kustomize cannot apply it to the chart's objects")
		case built.Problem != "":
			return nil, problem(field, built.Hint, "applied to the chart's objects: %s", built.Problem)
		}
		if docs, err = patched(docs, built.Objects); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// patchJob returns the job to apply a kustomization to documents.
func patchJob(docs []helm.Document, k types.Kustomization) (kustomizer.Job, error) {
	job := kustomizer.Job{Folder: ".", Files: map[string][]byte{}}
	for i, d := range docs {
		name := strconv.Itoa(i) + ".yaml"
		job.Files[name] = []byte(d.Text)
		k.Resources = append(k.Resources, name)
	}
	k.TypeMeta = types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}
	k.BuildMetadata = []string{types.OriginAnnotations}
	text, err := yaml.Marshal(k)
	job.Files["kustomization.yaml"] = text
	return job, err
}

// patched returns the documents with the texts of the built objects, and without those that patches removed.
func patched(docs []helm.Document, built []kustomizer.Object) (out []helm.Document, err error) {
	for _, o := range built {
		i, err := strconv.Atoi(strings.TrimSuffix(path.Base(o.File), ".yaml"))
		if err != nil {
			return nil, err
		}
		d := docs[i]
		d.Text, d.Kind, d.APIVersion = string(o.Text), o.Kind, o.APIVersion
		out = append(out, d)
	}
	return out, nil
}
