package flux

import (
	"context"
	"path"

	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Charts renders HelmReleases.
type Charts struct {
	*chart.Renderer
	// Open returns the files of a GitRepository and its top folder, or nil if its location is unknown.
	Open func(ObjectRef) (files *tree.Tree, top string)
}

// Render returns the objects of a HelmRelease, or none if it is suspended. An error is a [*diag.Diagnostic], a
// [*helm.Failure], a [*chart.Error] or a failure to read files.
func (c *Charts) Render(ctx context.Context, r *HelmRelease, objects Objects) ([]helm.Document, error) {
	if r.Spec.Suspend {
		return nil, nil
	}
	wanted, err := r.Chart(objects)
	if err != nil {
		return nil, err
	}
	files, err := c.files(ctx, wanted)
	if err != nil {
		return nil, err
	}
	release, err := r.Release(files, objects, c.Cluster)
	if err != nil {
		return nil, err
	}
	docs, err := c.Workers.Render(ctx, release)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 && !helm.HasCRDs(files) {
		return nil, roots.Nothing("spec.chart", "correct the values that decide what the chart renders",
			"the chart renders no object with these values")
	}
	return r.PostRender(docs)
}

// files returns the files of a chart, with values.yaml replaced by the values files.
func (c *Charts) files(ctx context.Context, wanted Chart) ([]helm.File, error) {
	if wanted.Remote != nil {
		if wanted.Verify != "" && !c.IsTrusted(*wanted.Remote) {
			return nil, problem(wanted.Verify,
				"name the signer's public key in charts.verify of the pipeline, or set unverified: true there to "+
					"accept the chart without verification",
				"agentry cannot verify the required signature: the key is only in the cluster")
		}
		files, err := c.Fetch(ctx, *wanted.Remote)
		if err != nil {
			return nil, err
		}
		return WithValuesFiles(files, wanted, InChart(files))
	}
	of, top := c.Open(wanted.Source)
	if of == nil {
		return nil, problem("spec.chart.spec.sourceRef", "map it to a source in sourceRefs of the pipeline",
			"it is unknown where GitRepository %s/%s is", wanted.Source.Namespace, wanted.Source.Name)
	}
	within := func(name string) string { return path.Join(top, path.Join("/", name)) } // as Flux does
	files, err := chart.Folder(of, within(wanted.Folder))
	if err != nil {
		return nil, problem("spec.chart.spec.chart", "", "%s", err.Error())
	}
	return WithValuesFiles(files, wanted, func(name string) ([]byte, bool) {
		text, err := of.ReadFile(within(name)) // relative to the repository, as in Flux
		return text, err == nil
	})
}
