// Package flux reads the Flux custom resources that decide what is applied.
//
// A [HelmRelease] is a value: it names its chart ([HelmRelease.Chart]), combines the chart's files with the values
// that it refers to ([HelmRelease.Release]), and changes the chart's objects ([HelmRelease.PostRender]). The caller
// looks up the objects that it refers to; HelmRelease itself fetches and renders nothing. Values can be secret: no
// [Problem] quotes one.
package flux

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// helmReleaseGroup is the API group of HelmReleases. All its versions are read alike.
const helmReleaseGroup = "helm.toolkit.fluxcd.io"

// HelmRelease has the fields of a HelmRelease that affect rendering.
type HelmRelease struct {
	Metadata Metadata        `json:"metadata"`
	Spec     HelmReleaseSpec `json:"spec"`

	replace *strings.Replacer // changes the texts in all values, if it is not nil
}

// Metadata names an object.
type Metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// HelmReleaseSpec is the specification of a HelmRelease.
type HelmReleaseSpec struct {
	Suspend         bool              `json:"suspend"`
	KubeConfig      json.RawMessage   `json:"kubeConfig"`
	Chart           *HelmChartRef     `json:"chart"`
	ChartRef        *ObjectRef        `json:"chartRef"`
	ReleaseName     string            `json:"releaseName"`
	TargetNamespace string            `json:"targetNamespace"`
	Values          json.RawMessage   `json:"values"`
	ValuesFrom      []ValuesReference `json:"valuesFrom"`
	PostRenderers   []PostRenderer    `json:"postRenderers"`
}

// HelmChartRef is a HelmChart within a HelmRelease.
type HelmChartRef struct {
	Spec HelmChartSpec `json:"spec"`
}

// HelmChartSpec locates a chart, in a HelmRelease or a HelmChart.
type HelmChartSpec struct {
	Chart                    string    `json:"chart"`
	Version                  string    `json:"version"`
	SourceRef                ObjectRef `json:"sourceRef"`
	ValuesFiles              []string  `json:"valuesFiles"`
	IgnoreMissingValuesFiles bool      `json:"ignoreMissingValuesFiles"`
	Verify                   *struct{} `json:"verify"`
}

// ObjectRef refers to an object.
type ObjectRef struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// ValuesReference refers to values in a ConfigMap or Secret.
type ValuesReference struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	ValuesKey  string `json:"valuesKey"`
	TargetPath string `json:"targetPath"`
	Optional   bool   `json:"optional"`
	Literal    bool   `json:"literal"`
}

// PostRenderer changes the objects of a chart.
type PostRenderer struct {
	Kustomize *struct {
		Patches []types.Patch `json:"patches"`
		Images  []types.Image `json:"images"`
	} `json:"kustomize"`
}

// problem returns why a custom resource cannot be built. It quotes no value.
func problem(field, hint, format string, args ...any) error {
	return new(diag.BuildRefused.At(field, format, args...).WithHint(hint))
}

// Objects looks up an object of the inputs, or returns nil. Namespace is never empty.
type Objects func(kind, namespace, name string) map[string]any

// ParseHelmRelease reads a HelmRelease. It ignores fields that do not affect rendering.
func ParseHelmRelease(text []byte) (*HelmRelease, error) {
	var out HelmRelease
	if err := yaml.Unmarshal(text, &out); err != nil {
		return nil, problem("spec", "compare it with Flux's reference of HelmRelease",
			"a field has a value of the wrong type")
	}
	if (out.Spec.Chart == nil) == (out.Spec.ChartRef == nil) {
		return nil, problem("spec", "", "needs either chart or chartRef")
	}
	return &out, nil
}

// Namespace returns the namespace of the release's objects.
func (r *HelmRelease) Namespace() string {
	if r.Spec.TargetNamespace != "" {
		return r.Spec.TargetNamespace
	}
	return r.Metadata.Namespace
}

// ReleaseName returns the name that Flux gives the release.
func (r *HelmRelease) ReleaseName() string {
	name := r.Spec.ReleaseName
	if name == "" {
		name = r.Metadata.Name
		if r.Spec.TargetNamespace != "" {
			name = r.Spec.TargetNamespace + "-" + name
		}
	}
	const maxName, hashed = 53, 12 // Helm's limit, and the length of Flux's hash suffix
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(name))
		name = name[:maxName-hashed-1] + "-" + hex.EncodeToString(sum[:])[:hashed]
	}
	return name
}

// Release combines the chart with the values of the release.
func (r *HelmRelease) Release(chart []helm.File, objects Objects, cluster helm.Cluster) (helm.Release, error) {
	values, err := r.values(objects)
	if err != nil {
		return helm.Release{}, err
	}
	return helm.Release{Name: r.ReleaseName(), Namespace: r.Namespace(), Chart: chart, Values: values,
		Cluster: cluster}, nil
}

func (r *HelmRelease) namespaceOf(ref ObjectRef) string {
	if ref.Namespace != "" {
		return ref.Namespace
	}
	return r.Metadata.Namespace
}

// text returns the string at a path of an object, or "".
func text(object map[string]any, path string) string {
	var value any = object
	for step := range strings.SplitSeq(path, ".") {
		m, _ := value.(map[string]any)
		value = m[step]
	}
	s, _ := value.(string)
	return s
}

// flag returns a boolean of an object's spec.
func flag(object map[string]any, name string) bool {
	spec, _ := object["spec"].(map[string]any)
	b, _ := spec[name].(bool)
	return b
}
