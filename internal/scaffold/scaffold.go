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
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/internal/applied"
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
	// Runtime is the program of the pods: alloy or agent.
	Runtime  string
	Job      Job
	Deployer Deployer
	// Bootstrap is the folder that Flux applies by itself in the cluster, or nil. The manifests for Flux go there.
	Bootstrap *applied.Folder
	// Serve is the URL of agentry serve, which the deployer tells what it has applied; or empty.
	Serve string
	Release
}

// Release says which agentry the files are for.
type Release struct {
	// Version is a release, such as v1.2.3, or empty.
	Version string
	// Revision is the tag, commit or branch of agentry's repository.
	Revision string
}

// File is one file to write.
type File struct {
	Path string // from the top of the repository, with slashes
	Data []byte
	Says string // short description
	// Shared means that all pipelines of the repository share this file: see [Join].
	Shared bool
}

// Output returns the output branch.
func (o Options) Output() string { return "environments/" + o.Name }

// Pipeline returns the name of the pipeline file.
func (o Options) Pipeline() string { return path.Join(o.Folder, "pipeline.yaml") }

// Paths returns the folders with inputs.
func (o Options) Paths() []string {
	return []string{path.Join(o.Folder, "cluster"), o.Inputs()}
}

// Dir returns the folder of the pipeline file.
func (o Options) Dir() string { return cmp.Or(o.Folder, ".") }

// Inputs returns the folder of the custom resources, which nothing may apply.
func (o Options) Inputs() string { return path.Join(o.Folder, "monitoring") }

// JobFile returns the path of the CI job, which all pipelines of the repository share, or "".
func (o Options) JobFile() string {
	switch o.Job {
	case GitHub:
		return ".github/workflows/agentry.yaml"
	case GitLab:
		return ".gitlab-ci.yml"
	}
	return ""
}

// Title returns a name, which for a second pipeline in a repository ends in the pipeline's name.
func (o Options) Title(name string) string {
	if o.Folder == "" {
		return name
	}
	return name + "-" + o.Name
}

// Deploys returns the path of the file that applies the output branch, or "".
func (o Options) Deploys() string {
	switch {
	case o.Deployer == NoDeployer:
		return ""
	case o.Bootstrap != nil:
		return path.Join(o.Bootstrap.Path, o.Title("monitoring")+".yaml")
	}
	return path.Join(o.Folder, string(o.Deployer), "monitoring.yaml")
}

// Notifies returns the path of the file by which Argo CD tells agentry serve what it has applied, or "". With Flux that
// is in [Options.Deploys].
func (o Options) Notifies() string {
	if o.Deployer != ArgoCD || o.Serve == "" {
		return ""
	}
	return path.Join(path.Dir(o.Deploys()), "notifications.yaml")
}

// Hook returns the address that the deployer tells agentry serve at.
func (o Options) Hook() string {
	return strings.TrimSuffix(o.Serve, "/") + "/hook/" + string(o.Deployer)
}

// Flux returns what Flux fetches the repository by: a GitRepository that is there, or the one to make.
func (o Options) Flux() applied.Source {
	s := applied.Source{Namespace: "flux-system", Name: o.Title("monitoring"), URL: o.URL}
	if o.Repository() != Anonymous {
		s.Secret = "git-read"
	}
	if o.Bootstrap != nil {
		s = o.Bootstrap.Source
		s.URL = cmp.Or(s.URL, o.URL)
	}
	return s
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
func (o Options) Files() (out []File, err error) {
	for _, f := range []struct{ template, path, says string }{
		{"pipeline.yaml", o.Pipeline(), "what is read, and where the result goes"},
		{"agent.yaml", path.Join(o.Inputs(), "agent.yaml"), "a GrafanaAgent and its MetricsInstance"},
		{"monitors.yaml", path.Join(o.Inputs(), "monitors.yaml"), "a PodMonitor for the agents themselves"},
		{"namespaces.yaml", path.Join(o.Folder, "cluster", "namespaces.yaml"),
			"namespaces, with the labels by which monitors are found"},
		{string(o.Job) + ".yaml", o.JobFile(), "a pass on each push, and a review of each change"},
		{string(o.Deployer) + ".yaml", o.Deploys(), "applies the output branch, and cluster/ unchanged"},
		{"argocd-notifications.yaml", o.Notifies(), "tells agentry serve what Argo CD has applied"},
	} {
		if f.path == "" {
			continue
		}
		data, err := o.fill(f.template)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Path: f.path, Data: data, Says: f.says, Shared: f.path == o.JobFile()})
	}
	return out, nil
}

// Join adds a folder to the lists in a CI job that was made for other pipelines. It returns false if the job is another
// one.
func Join(job []byte, folder string) ([]byte, bool) {
	var out bytes.Buffer
	indent, isList, isListed, joined := "", false, false, false
	end := func() {
		if isList && !isListed {
			out.WriteString(indent + folder + "\n")
		}
		isList = false
	}
	for line := range bytes.Lines(job) {
		text := strings.TrimSuffix(string(line), "\n")
		name := strings.TrimLeft(text, " ")
		if isList && (name == "" || len(text)-len(name) < len(indent)) {
			end()
		}
		isListed = isListed || name == folder
		out.Write(line)
		if name == "FOLDERS: |" || name == "paths: |" {
			indent, isList, isListed = strings.Repeat(" ", len(text)-len(name)+2), true, false
			joined = joined || name == "FOLDERS: |"
		}
	}
	if isList && !bytes.HasSuffix(job, []byte("\n")) {
		out.WriteString("\n")
	}
	end()
	return out.Bytes(), joined
}

// fill executes a template. Its delimiters are [[ and ]], because CI files contain {{ and }}.
func (o Options) fill(name string) ([]byte, error) {
	parsed, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
		"yaml":  scalar,
		"json":  quoted,
		"below": func(name string) string { return path.Join(o.Folder, name) },
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

// quoted returns a text as a JSON string.
func quoted(text string) (string, error) {
	out, err := json.Marshal(text)
	return string(out), err
}

// scalar returns a text as a YAML scalar, quoted if necessary.
func scalar(text string) (string, error) {
	out, err := yaml.Marshal(text)
	return strings.TrimSuffix(string(out), "\n"), err
}
