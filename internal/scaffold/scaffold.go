// Package scaffold generates the files of a new repository of inputs: a pipeline file, an example hierarchy, the
// objects that the cluster needs for it, a CI job, and the manifests with which Flux or Argo CD applies the result.
//
// It is a pure function of [Options]: no files, no network. The files work unchanged: agentry checks and renders them
// without a finding, and the pipeline can run once they are pushed.
package scaffold

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/inputs"
)

// Job is the CI system that runs passes.
type Job string

// The CI systems. Without one, agentry serve or cron can run passes.
const (
	GitHub Job = "github"
	GitLab Job = "gitlab"
	NoJob  Job = "none"
)

// Deployer is the tool that applies the output branch.
type Deployer string

// The deployers.
const (
	Flux       = Deployer(inputs.Flux)
	ArgoCD     = Deployer(inputs.ArgoCD)
	NoDeployer = Deployer("none")
)

// Options choose the generated files.
type Options struct {
	// Name is the name of the pipeline; its output branch is environments/NAME.
	Name string
	// URL is the repository of the inputs and of the output branch, and Branch the branch of the inputs.
	URL, Branch string
	// Folder is the folder of the inputs in the repository, with slashes; empty for its top.
	Folder string
	// Namespace is the namespace of the agents.
	Namespace string
	// RemoteWrite is the URL that samples are sent to, and Login the Secret with the username and password for it, or
	// empty.
	RemoteWrite, Login string
	Job                Job
	Deployer           Deployer
}

// File is one file to write.
type File struct {
	Path string // from the top of the repository, with slashes
	Data []byte
	Says string // short description
	// Shared means that all pipelines of the repository share this file: an existing one is left unchanged.
	Shared bool
}

// Output returns the output branch.
func (o Options) Output() string { return "environments/" + o.Name }

// Pipeline returns the name of the pipeline file.
func (o Options) Pipeline() string { return path.Join(o.Folder, "pipeline.yaml") }

// Paths returns the folders with inputs.
func (o Options) Paths() []string {
	return []string{path.Join(o.Folder, "cluster"), path.Join(o.Folder, "monitoring")}
}

// job returns the path of the CI job. GitHub runs all files in its folder, GitLab reads one file.
func (o Options) job() string {
	switch {
	case o.Job == GitLab:
		return ".gitlab-ci.yml"
	case o.Folder == "":
		return ".github/workflows/agentry.yaml"
	}
	return ".github/workflows/agentry-" + o.Name + ".yaml"
}

// Title returns the name of the CI job: for a second pipeline in a repository it contains the pipeline's name.
func (o Options) Title(name string) string {
	if o.Folder == "" {
		return name
	}
	return name + "-" + o.Name
}

// Deploys returns the path of the file that applies the output branch, or "".
func (o Options) Deploys() string {
	if o.Deployer == NoDeployer {
		return ""
	}
	return path.Join(o.Folder, string(o.Deployer), "monitoring.yaml")
}

// Login is the kind of access to a repository.
type Login string

// The kinds of access.
const (
	Token     Login = "token"
	Key       Login = "key"
	Anonymous Login = "anonymous" // on disk
)

// Repository returns the kind of access to the repository, judging by its URL.
func (o Options) Repository() Login {
	switch scheme, _, full := strings.Cut(o.URL, "://"); {
	case full && (scheme == "https" || scheme == "http"):
		return Token
	case full && scheme == "file", strings.HasPrefix(o.URL, "/"):
		return Anonymous
	}
	return Key
}

//go:embed files
var files embed.FS

// Files returns all files, in a good order for reading.
func (o Options) Files() ([]File, error) {
	list := []struct{ template, path, says string }{
		{"pipeline.yaml", o.Pipeline(), "what is read, and where the result goes"},
		{"agent.yaml", path.Join(o.Folder, "monitoring", "agent.yaml"), "a GrafanaAgent and its MetricsInstance"},
		{"monitors.yaml", path.Join(o.Folder, "monitoring", "monitors.yaml"),
			"a PodMonitor for the agents themselves"},
		{"namespaces.yaml", path.Join(o.Folder, "cluster", "namespaces.yaml"),
			"namespaces, with the labels by which monitors are found"},
		{"rbac.yaml", path.Join(o.Folder, "cluster", "rbac.yaml"), "the agents' ServiceAccount and its rights"},
	}
	switch o.Job {
	case GitHub:
		list = append(list, struct {
			template, path, says string
		}{"github.yaml", o.job(), "a pass on each push, and a review of pull requests"})
	case GitLab:
		list = append(list, struct {
			template, path, says string
		}{"gitlab.yaml", o.job(), "a pass on each push, and a review of merge requests"})
	}
	if name := o.Deploys(); name != "" {
		list = append(list, struct {
			template, path, says string
		}{string(o.Deployer) + ".yaml", name, "applies the output branch, and cluster/ unchanged"})
	}
	var out []File
	for _, f := range list {
		data, err := o.fill(f.template)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Path: f.path, Data: data, Says: f.says, Shared: f.path == o.job() && o.Job == GitLab})
	}
	return out, nil
}

// fill executes a template. Its delimiters are [[ and ]], because CI files contain {{ and }}.
func (o Options) fill(name string) ([]byte, error) {
	parsed, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
		"yaml":  scalar,
		"below": func(name string) string { return path.Join(o.Folder, name) },
		"dir":   func() string { return cmp.Or(o.Folder, ".") },
	}).ParseFS(files, "files/"+name)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, o); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// scalar returns a text as a YAML scalar, quoted if necessary.
func scalar(text string) (string, error) {
	out, err := yaml.Marshal(text)
	return strings.TrimSuffix(string(out), "\n"), err
}
