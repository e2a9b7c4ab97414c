package helmworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// render renders a release twice, to find what depends on randomness or the time. Its errors are Failures.
func render(r helm.Release, entered func(template string)) ([]helm.Document, error) {
	first, second := twoRuns(entered)
	docs, err := first.render(r)
	if err != nil {
		return nil, err
	}
	again, err := second.render(r)
	if err != nil {
		return nil, err
	}
	for i := range docs {
		docs[i].Random = !contains(again, docs[i])
		docs[i].Lookup = first.lookups[docs[i].Template]
		docs[i].Template = helm.InChart(docs[i].Template)
	}
	return docs, nil
}

// twoRuns returns two runs with different random values and times.
func twoRuns(entered func(template string)) (first, second *run) {
	return &run{seed: "a", now: time.Unix(1e9, 0), entered: entered, lookups: map[string]bool{}},
		&run{seed: "b", now: time.Unix(1.5e9+86_399, 0), entered: entered, lookups: map[string]bool{}}
}

func contains(docs []helm.Document, d helm.Document) bool {
	return slices.ContainsFunc(docs, func(o helm.Document) bool { return o.Template == d.Template && o.Text == d.Text })
}

func (r *run) render(of helm.Release) ([]helm.Document, error) {
	c, err := load(of.Chart)
	if err != nil {
		return nil, err
	}
	caps, err := capabilities(of.Cluster)
	if err != nil {
		return nil, &helm.Failure{Reason: err.Error()}
	}
	if err := checkInstallable(c, caps); err != nil {
		return nil, err
	}
	text := readText(c)
	if err := chartutil.ProcessDependencies(c, of.Values); err != nil {
		return nil, &helm.Failure{Template: metadataName,
			Reason: "conditions, tags or import-values of the dependencies cannot be processed"}
	}
	options := common.ReleaseOptions{Name: of.Name, Namespace: of.Namespace, Revision: 1, IsInstall: true}
	values, err := util.ToRenderValuesWithSchemaValidation(c, of.Values, options, caps, true)
	if err != nil {
		return nil, &helm.Failure{Template: "values.yaml", Reason: "the values cannot be merged with the chart's own"}
	}
	all, _ := values["Values"].(common.Values)
	if err := validate(c, all); err != nil {
		return nil, err
	}
	instrument(c)
	rendered, err := engine.Engine{CustomTemplateFuncs: r.functions()}.RenderWithContext(context.Background(), c,
		values)
	if err != nil {
		return nil, text.failure(err, all)
	}
	return documents(rendered)
}

// checkInstallable makes the checks that Helm makes before it renders.
func checkInstallable(c *chart.Chart, caps *common.Capabilities) error {
	failure := func(field, format string, args ...any) error {
		out := &helm.Failure{Template: metadataName, Reason: fmt.Sprintf(format, args...)}
		for _, f := range c.Raw {
			if f.Name == metadataName {
				out.Line = lineOf(f.Data, field)
			}
		}
		return out
	}
	if c.Metadata.Type != "" && c.Metadata.Type != "application" {
		return failure("type", "a chart of type %s cannot be installed", c.Metadata.Type)
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		return failure("kubeVersion", "the chart requires Kubernetes %s, but the cluster's version is %s: see "+
			"cluster.version in the pipeline", want, caps.KubeVersion.Version)
	}
	var missing []string
	for _, d := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(have *chart.Chart) bool { return have.Name() == d.Name }) {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) > 0 {
		return failure("dependencies", "dependencies are missing in the folder charts: %s", strings.Join(missing, ", "))
	}
	return nil
}

// instrument makes each template report when it begins and ends.
func instrument(c *chart.Chart) {
	for i, f := range c.Templates {
		if !strings.HasPrefix(path.Base(f.Name), "_") {
			c.Templates[i] = &common.File{Name: f.Name, Data: wrap(path.Join(c.ChartFullPath(), f.Name), f.Data)}
		}
	}
	for _, sub := range c.Dependencies() {
		instrument(sub)
	}
}

// documents returns the objects in rendered templates, without hooks and notes.
func documents(rendered map[string]string) ([]helm.Document, error) {
	for name := range rendered {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(rendered, name)
		}
	}
	_, manifests, err := release.SortManifests(rendered, nil, release.InstallOrder)
	if err != nil {
		return nil, badYAML(rendered, err)
	}
	out := make([]helm.Document, 0, len(manifests))
	for _, m := range manifests {
		if m.Head.Kind != "" { // else it has only comments, or kubectl would refuse it
			out = append(out, helm.Document{Template: m.Name, APIVersion: m.Head.Version, Kind: m.Head.Kind,
				Text: m.Content})
		}
	}
	slices.SortStableFunc(out, func(a, b helm.Document) int { return cmp.Compare(a.Template, b.Template) })
	return out, nil
}

// badYAML names the template whose output is not YAML, without the output.
func badYAML(rendered map[string]string, err error) error {
	out := &helm.Failure{Reason: "the template's output is not YAML"}
	for name := range rendered {
		if strings.HasPrefix(err.Error(), "YAML parse error on "+name+":") {
			out.Template = helm.InChart(name)
		}
	}
	return out
}

// asFailure turns any error into a Failure that can be shown.
func asFailure(err error) *helm.Failure {
	if f, ok := errors.AsType[*helm.Failure](err); ok {
		return f
	}
	return &helm.Failure{Reason: "the chart cannot be rendered"}
}
