package kustomize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// renderedAs separates the name of a chart's template from the number of its rendering, in names of virtual files that
// only kustomize sees.
const renderedAs = "@rendered-"

// charts renders the charts of the kustomizations, and replaces them by resources: virtual files with the results.
func (c *checker) charts(ctx context.Context, renderer *chart.Renderer) error {
	var first error
	for _, dir := range slices.Sorted(maps.Keys(c.files)) {
		f := c.files[dir]
		charts, err := c.inflations(dir, f)
		if err != nil {
			return err
		}
		if len(charts) == 0 {
			continue
		}
		resources := slices.Clone(f.Resources)
		f.inflated = map[string]inflation{}
		for i, of := range charts {
			if renderer == nil {
				return of.file.at(diag.BuildRefused, of.field, "charts of a kustomization are not rendered here",
					"render the chart and commit the result")
			}
			docs, err := c.chart(ctx, renderer, dir, of)
			if _, isFailed := errors.AsType[*diag.Diagnostic](err); isFailed {
				first = cmp.Or(first, err) // go on, so that all charts are fetched together
				continue
			}
			if err != nil {
				return err
			}
			for j, d := range docs {
				name := path.Join(of.home(), of.Name, d.Template) + fmt.Sprint(renderedAs, i, "-", j)
				c.changed[path.Join(dir, name)] = markChartObject(d.Text)
				if len(of.namespaces) == 1 {
					c.installed[path.Join(dir, name)] = of.namespaces[0]
				}
				c.lookups[path.Join(dir, name)] = d.LookedUp()
				f.inflated["resources"+index(len(resources))] = of
				resources = append(resources, name)
			}
		}
		f.Resources = resources
		c.changed[f.name] = []byte(marshal(f.Kustomization))
	}
	return first
}

// home returns the folder with the chart's folder, relative to the kustomization.
func (i inflation) home() string {
	home := types.HelmDefaultHome
	if i.file.HelmGlobals != nil && i.file.HelmGlobals.ChartHome != "" {
		home = i.file.HelmGlobals.ChartHome
	}
	if i.Version != "" && i.Repo != "" {
		home = path.Join(home, i.Name+"-"+i.Version)
	}
	return home
}

// chart renders one chart of the kustomization in a folder.
func (c *checker) chart(ctx context.Context, renderer *chart.Renderer, dir string, of inflation) ([]helm.Document,
	error) {
	f, field := of.file, of.field
	if err := of.check(); err != nil {
		return nil, err
	}
	files, err := c.chartFiles(ctx, renderer, dir, of)
	if err != nil {
		return nil, err
	}
	values, err := c.chartValues(dir, of)
	if err != nil {
		return nil, err
	}
	cluster := renderer.Cluster
	cluster.APIVersions = slices.Concat(cluster.APIVersions, of.ApiVersions)
	if of.KubeVersion != "" {
		cluster.Version = of.KubeVersion
	}
	namespaces := of.namespaces
	if len(namespaces) > maxNamespaces {
		return nil, f.at(diag.BuildRefused, field,
			fmt.Sprintf("kustomizations of more than %d namespaces use the chart", maxNamespaces),
			"set the chart's namespace")
	}
	var docs []helm.Document
	for i, namespace := range namespaces {
		rendered, err := renderer.Workers.Render(ctx,
			helm.Release{Name: of.ReleaseName, Namespace: cmp.Or(namespace, "default"), Chart: files, Values: values,
				Cluster: cluster})
		if failure, ok := errors.AsType[*helm.Failure](err); ok {
			return nil, f.at(diag.BuildFailed, field, fmt.Sprintf("chart %s: %s", of.Name, failure), "")
		}
		if err != nil {
			return nil, err
		}
		if i > 0 && !slices.Equal(docs, rendered) {
			return nil, f.at(diag.BuildRefused, field,
				fmt.Sprintf("the chart renders differently in the namespaces %s that kustomizations give it",
					strings.Join(namespaces, ", ")), "set the chart's namespace")
		}
		docs = rendered
	}
	return c.withoutRandom(docs, func(d helm.Document) error {
		return f.at(diag.BuildFailed, field,
			fmt.Sprintf("chart %s: %s: the %s depends on randomness or the time", of.Name, d.Template, d.Kind),
			"set the values that the chart generates")
	})
}

// maxNamespaces limits how often one chart is rendered for one kustomization.
const maxNamespaces = 16

// chartNamespaces returns the namespaces in which a chart in the kustomization of a folder is installed: the chart's
// own one, or the namespace of the nearest kustomization that uses it and has one. "" means that none has one.
func (c *checker) chartNamespaces(dir string, of types.HelmChart) []string {
	if of.Namespace != "" {
		return []string{of.Namespace}
	}
	found := map[string]bool{}
	type below struct{ dir, namespace string }
	seen := map[below]bool{}
	for next := []below{{c.request.Folder, ""}}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if f := c.files[at.dir]; f != nil && f.Namespace != "" {
			at.namespace = f.Namespace
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		if at.dir == dir {
			found[at.namespace] = true
		}
		for _, base := range c.bases[at.dir] {
			next = append(next, below{base, at.namespace})
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// markChartObject annotates objects of a chart as kustomize does, so that kustomizations do not change their
// namespaces.
func markChartObject(text string) []byte {
	object, err := kyaml.Parse(text)
	if err != nil {
		return []byte(text) // kustomize reports the error
	}
	mark := func(object *kyaml.RNode) error {
		return object.PipeE(kyaml.SetAnnotation(konfig.HelmGeneratedAnnotation, "true"))
	}
	items := object.Field("items")
	if items == nil || !strings.HasSuffix(object.GetKind(), "List") {
		err = mark(object)
	} else {
		err = items.Value.VisitElements(mark)
	}
	marked, notWritten := object.String()
	if err != nil || notWritten != nil {
		return []byte(text)
	}
	return []byte(marked)
}

// withoutRandom drops Secrets and ConfigMaps with random values, which differ each time, and refuses other random
// objects that are read or passed through.
func (c *checker) withoutRandom(docs []helm.Document, refuse func(helm.Document) error) ([]helm.Document, error) {
	isRead := func(d helm.Document) bool {
		return slices.Contains(manifest.Kinds(), d.Kind) || c.request.PassThrough.Has(d.APIVersion, d.Kind)
	}
	for _, d := range docs {
		if isData := d.Kind == "Secret" || d.Kind == "ConfigMap"; d.Random && !isData && isRead(d) {
			return nil, refuse(d)
		}
	}
	return slices.DeleteFunc(docs, func(d helm.Document) bool { return d.Random && isRead(d) }), nil
}

// chartFiles returns the files of a chart: of its folder in the repository if that exists, else it fetches the chart.
func (c *checker) chartFiles(ctx context.Context, renderer *chart.Renderer, dir string, of inflation) ([]helm.File,
	error) {
	f, field := of.file, of.field
	folder := path.Join(dir, of.home(), of.Name)
	_, isDir, err := c.tree.Relative(dir, path.Join(of.home(), of.Name))
	switch {
	case err == nil && isDir:
		local, err := renderer.Folder(ctx, c.tree, folder, chart.Kustomize)
		if err != nil {
			return nil, explain(err, f.name)
		}
		return local.Files, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, explain(err, f.name)
	case of.Repo == "":
		return nil, f.at(diag.BuildFailed, field,
			fmt.Sprintf("the folder %s has no chart, and repo is not set", folder),
			"add the chart, or set repo")
	}
	source := chart.Source{URL: of.Repo, Name: of.Name, Version: of.Version}
	if of.Devel && of.Version == "" {
		source.Version = ">0.0.0-0" // as for helm pull --devel
	}
	if strings.HasPrefix(of.Repo, chart.Scheme) {
		source.URL, source.Name = strings.TrimSuffix(of.Repo, "/")+"/"+of.Name, ""
	}
	files, err := renderer.Fetch(ctx, source)
	if away, ok := errors.AsType[*chart.Error](err); ok {
		return nil, new(f.at(diag.BuildFailed, field, away.Error(), "").Because(away.Cause()))
	}
	return files, err
}

// chartValues returns the values that a kustomization sets for a chart.
func (c *checker) chartValues(dir string, of inflation) (map[string]any, error) {
	f, field := of.file, of.field
	values := map[string]any{}
	read := func(field, name string) error {
		if err := c.entry(f, dir, entry{path: name, use: text, field: field}); err != nil {
			return err
		}
		data, err := c.tree.ReadFile(path.Join(dir, name))
		if err != nil {
			return explain(err, f.name)
		}
		var more map[string]any
		if err := errors.Join(checkAliases(name, data), sigsyaml.Unmarshal(data, &more)); err != nil {
			return f.at(diag.BuildFailed, field, "the file is not a Helm values file", "")
		}
		values = helm.Merge(values, more)
		return nil
	}
	if of.ValuesFile != "" && (of.ValuesMerge != "replace" || len(of.ValuesInline) == 0) {
		if err := read(field+".valuesFile", of.ValuesFile); err != nil {
			return nil, err
		}
	}
	if of.ValuesMerge == "merge" {
		values = helm.Merge(of.ValuesInline, values)
	} else {
		values = helm.Merge(values, of.ValuesInline)
	}
	for i, name := range of.AdditionalValuesFiles {
		if err := read(field+".additionalValuesFiles"+index(i), name); err != nil {
			return nil, err
		}
	}
	return values, nil
}
