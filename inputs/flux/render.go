package flux

import (
	"context"
	"path"

	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Charts renders HelmReleases.
type Charts struct {
	*chart.Renderer
	// Open opens the files of a GitRepository, and says which folder is its top; nil if nobody knows where it is.
	Open func(ObjectRef) (files *tree.Tree, top string)
}

// Render returns the objects of a HelmRelease, none if it is suspended. Its errors are a [*diag.Diagnostic], a
// [*helm.Failure] or a [*chart.Error], or about reading files.
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
	return r.PostRender(docs)
}

// files are those of a chart, with the values files that replace its own.
func (c *Charts) files(ctx context.Context, wanted Chart) ([]helm.File, error) {
	if wanted.Remote != nil {
		if wanted.Verify != "" && !c.IsTrusted(*wanted.Remote) {
			return nil, problem(wanted.Verify,
				"name the signer's public key in charts.verify of the pipeline; unverified: true there accepts the "+
					"chart as it is", "agentry cannot verify the signature that is asked for: the key is only in the "+
					"cluster")
		}
		files, err := c.Fetch(ctx, *wanted.Remote)
		if err != nil {
			return nil, err
		}
		return WithValuesFiles(files, wanted, InChart(files))
	}
	of, top := c.Open(wanted.Source)
	if of == nil {
		return nil, problem("spec.chart.spec.sourceRef", "say which repository it is",
			"nothing says where GitRepository %s/%s is", wanted.Source.Namespace, wanted.Source.Name)
	}
	within := func(name string) string { return path.Join(top, path.Join("/", name)) } // as Flux does it
	files, err := chart.Folder(of, within(wanted.Folder))
	if err != nil {
		return nil, problem("spec.chart.spec.chart", "", "%s", err.Error())
	}
	return WithValuesFiles(files, wanted, func(name string) ([]byte, bool) {
		text, err := of.ReadFile(within(name)) // relative to the repository, as for Flux
		return text, err == nil
	})
}
