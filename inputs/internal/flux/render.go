package flux

import (
	"context"
	"errors"
	"path"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Charts renders HelmReleases.
type Charts struct {
	*chart.Renderer
	// Kustomize are the processes in which post-renderers run.
	Kustomize *kustomizer.Workers
	// Open returns the files of a GitRepository and its top folder, or nil if its location is unknown.
	Open func(ObjectRef) (files *tree.Tree, top string)
}

// Render returns the objects of a HelmRelease, or none if it is suspended, and its chart if that is a folder. An error
// is a [*diag.Diagnostic], a [*helm.Failure], a [*chart.Error] or a failure to read files.
func (c *Charts) Render(ctx context.Context, r *HelmRelease, objects Objects) ([]helm.Document, *chart.Local, error) {
	if r.Spec.Suspend {
		return nil, nil, nil
	}
	wanted, err := r.Chart(objects)
	if err != nil {
		return nil, nil, err
	}
	files, local, err := c.files(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	release, err := r.Release(files, objects, c.Cluster)
	if err != nil {
		return nil, nil, err
	}
	if local != nil {
		if err := local.Check(release); err != nil {
			return nil, nil, err
		}
	}
	docs, err := c.Workers.Render(ctx, release)
	if err != nil {
		return nil, local, err
	}
	hasCRDs := helm.HasCRDs(files)
	if len(docs) == 0 && !hasCRDs {
		return nil, local, roots.NothingRendered("spec.chart")
	}
	docs, err = r.PostRender(ctx, docs, c.Kustomize)
	if err == nil && len(docs) == 0 && !hasCRDs {
		return nil, local, roots.Nothing("spec.postRenderers", "correct the patches, or remove the custom resource",
			"patches delete all objects of the chart")
	}
	return docs, local, err
}

// files returns the files of a chart, with values.yaml replaced by the values files, and the chart if it is a folder.
func (c *Charts) files(ctx context.Context, wanted Chart) ([]helm.File, *chart.Local, error) {
	if wanted.Remote != nil {
		if wanted.Verify != "" && !c.IsTrusted(*wanted.Remote) {
			return nil, nil, problem(wanted.Verify,
				"name the signer's public key in charts.verify of the pipeline, or set unverified: true there to "+
					"accept the chart without verification",
				"agentry cannot verify the required signature: the key is only in the cluster")
		}
		files, err := c.Fetch(ctx, *wanted.Remote)
		if err != nil {
			return nil, nil, err
		}
		files, err = WithValuesFiles(files, wanted, InChart(files))
		return files, nil, err
	}
	of, top := c.Open(wanted.Source)
	if of == nil {
		return nil, nil, problem("spec.chart.spec.sourceRef", "map it to a source in sourceRefs of the pipeline",
			"it is unknown where GitRepository %s/%s is", wanted.Source.Namespace, wanted.Source.Name)
	}
	within := func(name string) string { return path.Join(top, path.Join("/", name)) } // as Flux does
	local, err := c.Folder(ctx, of, within(wanted.Folder), chart.Flux)
	if _, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, problem("spec.chart.spec.chart", "", "%s", err.Error())
	}
	files, err := WithValuesFiles(local.Files, wanted, func(name string) ([]byte, bool) {
		text, err := of.ReadFile(within(name)) // relative to the repository, as in Flux
		return text, err == nil
	})
	return files, local, err
}
