package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/kustomize"
)

// remoteChart fetches and renders a chart. A repository URL without a scheme is an OCI registry.
func (b *build) remoteChart(ctx context.Context, s *Source) ([]manifest.Built, error) {
	source := chart.Source{URL: s.RepoURL, Name: s.Chart, Version: s.TargetRevision}
	if s.isOCI() || !strings.Contains(s.RepoURL, "://") {
		source.URL, source.Name = chart.Scheme+path.Join(strings.TrimPrefix(s.RepoURL, chart.Scheme), s.Chart), ""
	}
	if err := b.canRender(s); err != nil {
		return nil, err
	}
	files, err := b.opts.Charts.Fetch(ctx, source)
	if away, ok := errors.AsType[*chart.Error](err); ok {
		return nil, new(diag.BuildFailed.At(s.Field+".repoURL", "%s", away.Error()).Because(away.Cause()))
	}
	if err != nil {
		return nil, err
	}
	return b.render(ctx, s, &chart.Local{Files: files}, inChart(files), func(string) manifest.Origin {
		return inResource{by: b.root.RequestedBy}
	})
}

// chart renders a chart in a Git repository.
func (b *build) chart(ctx context.Context, s *Source, in repository, folder string) ([]manifest.Built, error) {
	if err := b.canRender(s); err != nil {
		return nil, err
	}
	local, err := b.opts.Charts.Folder(ctx, b.files, folder, chart.ArgoCD)
	if _, ok := errors.AsType[*diag.Diagnostic](err); ok || err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, problem(s.Field+".path", "", "%s", err)
	}
	return b.render(ctx, s, local, inRepository("", in, path.Clean(s.Path)), func(template string) manifest.Origin {
		name, _ := local.File(template)
		return kustomize.InFile(b.opts.Open, name)
	})
}

func (b *build) canRender(s *Source) error {
	if b.opts.Charts == nil {
		return refused(s.Field, "render the chart and commit the result", "charts are not rendered here")
	}
	return nil
}

// render renders a chart and keeps the kinds that agentry reads.
func (b *build) render(ctx context.Context, s *Source, local *chart.Local, own fileSource,
	origin func(template string) manifest.Origin) ([]manifest.Built, error) {
	r := &release{Source: s, env: newEnv(b.app, s), own: own, refs: b.refs}
	if s.Helm != nil {
		r.of = *s.Helm
	}
	release, err := r.make(b.app, local.Files, b.opts.Charts.Cluster)
	if err == nil {
		err = local.Check(release)
	}
	if err != nil {
		return nil, err
	}
	docs, err := b.opts.Charts.Workers.Render(ctx, release)
	name := cmp.Or(s.Chart, path.Base(s.Path))
	if failed, ok := errors.AsType[*helm.Failure](err); ok {
		return nil, problem(s.Field, "", "chart %s: %s", name, failed)
	}
	if err != nil {
		return nil, err
	}
	b.made = b.made || helm.HasCRDs(local.Files)
	for _, d := range docs {
		b.note(manifest.Built{Text: []byte(d.Text)})
	}
	filtered := helm.Filter(docs, b.app.Spec.Destination.Namespace, isRead)
	for _, d := range filtered.Random {
		if d.Kind != "Secret" && d.Kind != "ConfigMap" {
			return nil, problem(s.Field, "set the values that the chart generates",
				"chart %s: %s: the %s depends on randomness or the time", name, d.Template, d.Kind)
		}
	}
	out := make([]manifest.Built, len(filtered.Documents))
	for i, d := range filtered.Documents {
		out[i] = manifest.Built{Text: []byte(d.Text), Origin: origin(d.Template), Applied: true, Lookup: d.LookedUp()}
	}
	return out, nil
}

// isRead reports whether agentry reads or follows objects of a kind.
func isRead(apiVersion, kind string) bool {
	return slices.Contains(manifest.Kinds(), kind) || follows(apiVersion, kind)
}

func index(i int) string { return fmt.Sprintf("[%d]", i) }
