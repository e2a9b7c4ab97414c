// Package starter makes the files of a new repository of inputs: a pipeline file, an example hierarchy, what the
// cluster needs for it, a CI job, and the manifests by which Flux or Argo CD applies the result.
//
// It is a pure function of [Options]: no files, no network. What it makes works as it is: agentry checks and renders it
// without a finding, and a pass of the pipeline can be made once the files are pushed.
package starter

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// Job is the CI system that runs passes.
type Job string

// The CI systems. Without one, agentry serve or cron can run passes.
const (
	GitHub Job = "github"
	GitLab Job = "gitlab"
	NoJob  Job = "none"
)

// Deployer is what applies the output branch.
type Deployer string

// The deployers.
const (
	Flux       Deployer = "flux"
	ArgoCD     Deployer = "argocd"
	NoDeployer Deployer = "none"
)

// Options say what is made.
type Options struct {
	// Name is the name of the pipeline; its output branch is environments/NAME.
	Name string
	// URL is the repository of the inputs and of the output branch, and Branch that of the inputs.
	URL, Branch string
	// Folder is where the inputs are in the repository, with slashes; empty for its top.
	Folder string
	// Namespace is that of the agents.
	Namespace string
	// RemoteWrite is where samples are sent to, and Login the Secret with username and password for it, or empty.
	RemoteWrite, Login string
	Job                Job
	Deployer           Deployer
}

// File is one file to write.
type File struct {
	Path string // from the top of the repository, with slashes
	Data []byte
	Says string // what it is, in a few words
	// Shared means that all pipelines of the repository have this file: one that is there already is left unchanged.
	Shared bool
}

// Output returns the branch that is rendered to.
func (o Options) Output() string { return "environments/" + o.Name }

// Pipeline returns the name of the pipeline file.
func (o Options) Pipeline() string { return path.Join(o.Folder, "pipeline.yaml") }

// Paths returns the folders that are read.
func (o Options) Paths() []string {
	return []string{path.Join(o.Folder, "cluster"), path.Join(o.Folder, "monitoring")}
}

// job returns the file of the CI job. GitHub runs all files of its folder, GitLab reads one.
func (o Options) job() string {
	switch {
	case o.Job == GitLab:
		return ".gitlab-ci.yml"
	case o.Folder == "":
		return ".github/workflows/agentry.yaml"
	}
	return ".github/workflows/agentry-" + o.Name + ".yaml"
}

// Title returns the name of the CI job: a second pipeline of a repository has its name in it.
func (o Options) Title(name string) string {
	if o.Folder == "" {
		return name
	}
	return name + "-" + o.Name
}

// Deploys returns the file by which the output branch is applied, or nothing.
func (o Options) Deploys() string {
	if o.Deployer == NoDeployer {
		return ""
	}
	return path.Join(o.Folder, string(o.Deployer), "monitoring.yaml")
}

// Login is how a repository is reached.
type Login string

// The ways of login.
const (
	Token     Login = "token"
	Key       Login = "key"
	Anonymous Login = "anonymous" // the disk
)

// Repository returns how the repository is reached, by its URL.
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

// Files returns all files, in the order in which they are worth reading.
func (o Options) Files() ([]File, error) {
	list := []struct{ template, path, says string }{
		{"pipeline.yaml", o.Pipeline(), "what is read, and where the result goes"},
		{"agent.yaml", path.Join(o.Folder, "monitoring", "agent.yaml"), "a GrafanaAgent and its MetricsInstance"},
		{"monitors.yaml", path.Join(o.Folder, "monitoring", "monitors.yaml"), "a PodMonitor, of the agents themselves"},
		{"namespaces.yaml", path.Join(o.Folder, "cluster", "namespaces.yaml"),
			"namespaces, by whose labels monitors are found"},
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
		}{string(o.Deployer) + ".yaml", name, "applies the output branch, and cluster/ as it is"})
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

// fill fills a template. Its marks are [[ and ]], because CI files have {{ and }} of their own.
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

// scalar returns a text as YAML, with quotes where it needs them.
func scalar(text string) (string, error) {
	out, err := yaml.Marshal(text)
	return strings.TrimSuffix(string(out), "\n"), err
}
