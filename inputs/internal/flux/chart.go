package flux

import (
	"bytes"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// Chart is the chart of a release: either Remote or Folder.
type Chart struct {
	// Remote is a chart to fetch.
	Remote *chart.Source
	// Source is the GitRepository that contains Folder.
	Source ObjectRef
	Folder string
	// ValuesFiles replace the chart's values.yaml. They are files of the chart, or of the GitRepository if the chart
	// is a folder there.
	ValuesFiles   []string
	IgnoreMissing bool
	// Verify is the field that requires a signature of the chart, or "".
	Verify string
}

// Chart resolves the chart of a release.
func (r *HelmRelease) Chart(objects Objects) (Chart, error) {
	if r.Spec.Chart != nil {
		return resolveChart("spec.chart.spec", r.Spec.Chart.Spec, r.namespaceOf(r.Spec.Chart.Spec.SourceRef), objects)
	}
	const field = "spec.chartRef"
	ref := *r.Spec.ChartRef
	namespace := r.namespaceOf(ref)
	object := objects(ref.Kind, namespace, ref.Name)
	switch {
	case ref.Kind != "OCIRepository" && ref.Kind != "HelmChart":
		return Chart{}, problem(field+".kind", "use an OCIRepository or a HelmChart", "charts of kind %s are not read",
			ref.Kind)
	case object == nil:
		return Chart{}, missing(field, ref.Kind, namespace, ref.Name)
	case ref.Kind == "OCIRepository":
		return ociChart(field, object), nil
	}
	var of struct {
		Spec HelmChartSpec `json:"spec"`
	}
	if err := convert(object, &of); err != nil {
		return Chart{}, problem(field, "", "HelmChart %s/%s has a field of the wrong type", namespace, ref.Name)
	}
	return resolveChart(field, of.Spec, namespace, objects)
}

func missing(field, kind, namespace, name string) error {
	return problem(field, "add it to the inputs", "%s %s/%s is not in the inputs", kind, namespace, name)
}

func convert(object, into any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

func resolveChart(field string, c HelmChartSpec, namespace string, objects Objects) (Chart, error) {
	out := Chart{ValuesFiles: c.ValuesFiles, IgnoreMissing: c.IgnoreMissingValuesFiles}
	ref := c.SourceRef
	switch {
	case c.Verify != nil && ref.Kind == "GitRepository":
		return Chart{}, problem(field+".verify", "remove it, or use a chart of a registry",
			"a chart in a GitRepository has no signature")
	case ref.Kind == "GitRepository":
		out.Source, out.Folder = ObjectRef{ref.Kind, ref.Name, namespace}, path.Clean(c.Chart)
		return out, nil
	case ref.Kind != "HelmRepository":
		return Chart{}, problem(field+".sourceRef.kind", "use a GitRepository, HelmRepository or OCIRepository",
			"charts of kind %s are not read", ref.Kind)
	}
	repository := objects(ref.Kind, namespace, ref.Name)
	if repository == nil {
		return Chart{}, missing(field+".sourceRef", ref.Kind, namespace, ref.Name)
	}
	if c.Verify != nil {
		out.Verify = field + ".verify"
	}
	url := text(repository, "spec.url")
	out.Remote = &chart.Source{URL: url, Name: c.Chart, Version: c.Version}
	if text(repository, "spec.type") == "oci" {
		out.Remote.URL, out.Remote.Name = url+"/"+c.Chart, ""
		out.Remote.Insecure = flag(repository, "insecure")
	}
	return out, nil
}

func ociChart(field string, repository map[string]any) Chart {
	source := &chart.Source{URL: text(repository, "spec.url"), Insecure: flag(repository, "insecure"),
		Digest: text(repository, "spec.ref.digest")}
	source.Version = text(repository, "spec.ref.semver")
	if source.Version == "" {
		source.Version = text(repository, "spec.ref.tag")
	}
	if source.Version == "" {
		source.Version = "latest" // as in Flux
	}
	out := Chart{Remote: source}
	if spec, _ := repository["spec"].(map[string]any); spec["verify"] != nil {
		out.Verify = field + ".verify"
	}
	return out
}

// WithValuesFiles replaces a chart's values.yaml by the merged values files, in which later files take precedence.
func WithValuesFiles(files []helm.File, c Chart, read func(name string) ([]byte, bool)) ([]helm.File, error) {
	if len(c.ValuesFiles) == 0 {
		return files, nil
	}
	values := map[string]any{}
	for _, name := range c.ValuesFiles {
		text, found := read(path.Clean(name))
		switch {
		case !found && c.IgnoreMissing:
			continue
		case !found:
			return nil, problem("spec.chart.spec.valuesFiles", "", "the file %s does not exist", name)
		}
		var more map[string]any
		if err := yaml.Unmarshal(text, &more); err != nil {
			return nil, problem("spec.chart.spec.valuesFiles", "", "the file %s is not a Helm values file", name)
		}
		values = helm.Merge(values, more)
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return nil, err
	}
	const defaults = "values.yaml"
	out := slices.DeleteFunc(slices.Clone(files), func(f helm.File) bool { return f.Name == defaults })
	return append(out, helm.File{Name: defaults, Data: text}), nil
}

// InChart returns a function for WithValuesFiles that reads a chart's files.
func InChart(files []helm.File) func(string) ([]byte, bool) {
	return func(name string) ([]byte, bool) {
		for _, f := range files {
			if f.Name == name {
				return bytes.Clone(f.Data), true
			}
		}
		return nil, false
	}
}
