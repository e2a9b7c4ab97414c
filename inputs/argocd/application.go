package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Group and kinds of the custom resources of Argo CD.
const (
	APIVersion         = "argoproj.io/v1alpha1"
	ApplicationKind    = "Application"
	ApplicationSetKind = "ApplicationSet"
)

// Application has the fields of an Application that decide what is applied.
type Application struct {
	Metadata Metadata        `json:"metadata"`
	Spec     ApplicationSpec `json:"spec"`
}

// Metadata names an object.
type Metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// ApplicationSpec is the specification of an Application.
type ApplicationSpec struct {
	Project        string      `json:"project"`
	Source         *Source     `json:"source"`
	Sources        []Source    `json:"sources"`
	SourceHydrator *struct{}   `json:"sourceHydrator"`
	Destination    Destination `json:"destination"`
}

// Destination is where an Application's objects go.
type Destination struct {
	Server    string `json:"server"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// InCluster and InClusterName are the address and the name of the cluster that Argo CD runs in.
const (
	InCluster     = "https://kubernetes.default.svc"
	InClusterName = "in-cluster"
)

// String returns the name or address of the cluster.
func (d Destination) String() string {
	if d.Name != "" {
		return d.Name
	}
	if d.Server == InCluster {
		return InClusterName
	}
	return d.Server
}

// Source is one of the sources of an Application.
type Source struct {
	RepoURL        string           `json:"repoURL"`
	Path           string           `json:"path"`
	TargetRevision string           `json:"targetRevision"`
	Chart          string           `json:"chart"`
	Ref            string           `json:"ref"`
	Helm           *HelmSource      `json:"helm"`
	Kustomize      *KustomizeSource `json:"kustomize"`
	Directory      *DirectorySource `json:"directory"`
	Plugin         *PluginSource    `json:"plugin"`
	// Field is the source's path in the Application, such as spec.sources[1].
	Field string `json:"-"`
}

// HelmSource configures how a chart is rendered.
type HelmSource struct {
	ReleaseName             string          `json:"releaseName"`
	Namespace               string          `json:"namespace"`
	Values                  string          `json:"values"`
	ValuesObject            json.RawMessage `json:"valuesObject"`
	ValueFiles              []string        `json:"valueFiles"`
	IgnoreMissingValueFiles bool            `json:"ignoreMissingValueFiles"`
	Parameters              []Parameter     `json:"parameters"`
	FileParameters          []FileParameter `json:"fileParameters"`
	KubeVersion             string          `json:"kubeVersion"`
	APIVersions             []string        `json:"apiVersions"`
}

// Parameter sets a single value of a chart, like helm --set or --set-string.
type Parameter struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ForceString bool   `json:"forceString"`
}

// FileParameter sets a value of a chart to a file's content, like helm --set-file.
type FileParameter struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// KustomizeSource configures how a kustomization is changed.
type KustomizeSource struct {
	NamePrefix                string            `json:"namePrefix"`
	NameSuffix                string            `json:"nameSuffix"`
	Namespace                 string            `json:"namespace"`
	Images                    []string          `json:"images"`
	Replicas                  []Replica         `json:"replicas"`
	CommonLabels              map[string]string `json:"commonLabels"`
	ForceCommonLabels         bool              `json:"forceCommonLabels"`
	LabelWithoutSelector      bool              `json:"labelWithoutSelector"`
	LabelIncludeTemplates     bool              `json:"labelIncludeTemplates"`
	CommonAnnotations         map[string]string `json:"commonAnnotations"`
	ForceCommonAnnotations    bool              `json:"forceCommonAnnotations"`
	CommonAnnotationsEnvsubst bool              `json:"commonAnnotationsEnvsubst"`
	Patches                   []types.Patch     `json:"patches"`
	Components                []string          `json:"components"`
	IgnoreMissingComponents   bool              `json:"ignoreMissingComponents"`
	KubeVersion               string            `json:"kubeVersion"`
	APIVersions               []string          `json:"apiVersions"`
}

// Replica sets the number of pods of a workload. Count is a number, or a string that holds one.
type Replica struct {
	Name  string          `json:"name"`
	Count json.RawMessage `json:"count"`
}

// DirectorySource selects the files of a folder.
type DirectorySource struct {
	Recurse bool           `json:"recurse"`
	Include string         `json:"include"`
	Exclude string         `json:"exclude"`
	Jsonnet map[string]any `json:"jsonnet"`
}

// problem says why an Application or ApplicationSet cannot be built. It must not quote a value that could be secret.
func problem(field, hint, format string, args ...any) error {
	return new(diag.BuildFailed.At(field, format, args...).WithHint(hint))
}

// places names what the sources of the Application are.
func (a *Application) places() (out string) {
	sources := a.Spec.Sources
	if a.Spec.Source != nil {
		sources = append(slices.Clip(sources), *a.Spec.Source)
	}
	for _, s := range sources {
		out += fmt.Sprintf("%q %q %q\n", s.RepoURL, path.Join("/", s.Path), s.Chart)
	}
	return out
}

// refused says that an Application or ApplicationSet uses something that agentry does not support.
func refused(field, hint, format string, args ...any) error {
	return new(diag.BuildRefused.At(field, format, args...).WithHint(hint))
}

// ParseApplication reads an Application. It ignores fields that do not affect rendering.
func ParseApplication(object map[string]any) (*Application, error) {
	var out Application
	if err := convert(object, "", &out); err != nil {
		return nil, err
	}
	if out.Metadata.Name == "" {
		return nil, problem("metadata.name", "", "is missing")
	}
	if out.Spec.SourceHydrator != nil {
		return nil, refused("spec.sourceHydrator", "add the branch that it writes as a source of the pipeline",
			"Argo CD's source hydrator is not supported")
	}
	switch {
	case len(out.Spec.Sources) > 0: // Argo CD then ignores source
		for i := range out.Spec.Sources {
			out.Spec.Sources[i].Field = fmt.Sprintf("spec.sources[%d]", i)
		}
	case out.Spec.Source != nil:
		out.Spec.Source.Field = "spec.source"
		out.Spec.Sources = []Source{*out.Spec.Source}
	default:
		return nil, problem("spec", "set spec.source", "the Application has no source")
	}
	for i := range out.Spec.Sources {
		if err := out.Spec.Sources[i].check(); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// check refuses invalid and unsupported sources.
func (s *Source) check() error {
	kinds := 0
	for _, is := range []bool{s.Helm != nil, s.Kustomize != nil, s.Directory != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case s.RepoURL == "":
		return problem(s.Field+".repoURL", "", "is missing")
	case s.Chart != "" && s.Ref != "":
		return problem(s.Field+".ref", "refer to a Git repository", "a chart cannot be referred to")
	case s.Chart == "" && s.Ref == "" && s.Path == "" && !s.isOCI():
		return problem(s.Field, "set path or chart", "the source has neither path nor chart")
	case kinds > 1:
		return problem(s.Field, "keep one of them", "the source has more than one of helm, kustomize and directory")
	case s.Directory != nil && len(s.Directory.Jsonnet) > 0:
		return refused(s.Field+".directory.jsonnet", "commit its output", "Jsonnet is not evaluated")
	case path.IsAbs(s.Path):
		return problem(s.Field+".path", "write it relative to the top of the repository", "is an absolute path")
	}
	return nil
}

func (s *Source) isOCI() bool { return strings.HasPrefix(s.RepoURL, "oci://") }

// IsReference reports whether a source only provides files for other sources.
func (s *Source) IsReference() bool { return s.Ref != "" && s.Path == "" && s.Chart == "" }

// convert converts a decoded YAML value to a typed one.
func convert(value any, field string, into any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		field = strings.TrimPrefix(field+"."+wrong.Field, ".")
	}
	if err != nil {
		return problem(field, "compare it with Argo CD's reference", "has a value of the wrong type")
	}
	return nil
}
