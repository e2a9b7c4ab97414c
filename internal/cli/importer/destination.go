package importer

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/installation"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

// placeholder is the repository in a pipeline file that is not in a checkout.
const placeholder = "https://git.example.com/CHANGE/ME.git"

const header = `# Made by agentry import: renders what the Grafana Agent Operator rendered. docs/migration.md of agentry says when pods
# restart, and describes the way to compatibility: current.
`

// destination is a new folder for the inputs and for the pipeline that reads them.
type destination struct {
	folder   string
	pipeline []byte
	isKnown  bool // the repository is known
}

// newDestination returns a folder, which must be new or empty. set changes fields of the pipeline.
func newDestination(folder string, set []string) (*destination, error) {
	if err := checkNew(folder); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	url, branch := "", ""
	source := map[string]any{}
	if top, below := inCheckout(absolute); top != "" {
		if url, branch = checkout.Origin(top), checkout.Branch(top); below != "." {
			source["paths"] = []any{below}
		}
	}
	d := &destination{folder: folder, isKnown: url != ""}
	url = cmp.Or(url, placeholder)
	source["url"], source["ref"] = url, map[string]any{"branch": cmp.Or(branch, "main")}
	switch (scaffold.Options{URL: url}).Repository() { // as agentry init names the variables
	case scaffold.Token:
		source["auth"] = map[string]any{"passwordEnv": "GIT_TOKEN"}
	case scaffold.Key:
		source["auth"] = map[string]any{"sshKeyEnv": "GIT_SSH_KEY", "knownHostsEnv": "GIT_KNOWN_HOSTS"}
	}
	name, err := nameFor(absolute)
	if err != nil {
		return nil, err
	}
	fields, err := pipelinefile.Set(map[string]any{
		"apiVersion": pipeline.APIVersion, "kind": pipeline.Kind, "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"compatibility": string(manifest.Operator), "unknownFields": string(manifest.IgnoreUnknownFields),
			"sources": []any{source}, "output": map[string]any{"branch": "environments/" + name},
		},
	}, set)
	if err != nil {
		return nil, command.Usagef("", "%v", err)
	}
	text, err := yaml.Marshal(fields)
	d.pipeline = append([]byte(header), text...)
	return d, err
}

// nameFor returns the name of the pipeline: that of the folder or, if it is one of another pipeline in the checkout, of
// all folders on the way. Two pipelines of one name would write to one branch, and delete what the other renders.
func nameFor(absolute string) (string, error) {
	var taken []string
	top, below := inCheckout(absolute)
	if top != "" {
		fleet, err := pipelinefile.Below(os.DirFS(top))
		if err != nil {
			return "", err
		}
		for _, p := range fleet {
			taken = append(taken, p.Metadata.Name, strings.TrimPrefix(p.Spec.Output.Branch, "environments/"))
		}
	}
	names := []string{path.Base(filepath.ToSlash(absolute)), strings.ReplaceAll(below, "/", "-"), "prod"}
	for _, name := range names {
		if problem, _ := diag.LabelName(name); problem == "" && !slices.Contains(taken, name) {
			return name, nil
		}
	}
	return "", command.Usagef("name a folder whose name no pipeline has",
		"other pipelines in this checkout have the names %s", strings.Join(slices.Compact(taken), ", "))
}

// inCheckout returns the top of the repository that a folder is in, or nothing, and the way from there to the folder.
func inCheckout(absolute string) (top, below string) {
	top = checkout.Top(absolute)
	below, err := filepath.Rel(top, absolute)
	if top == "" || err != nil {
		return "", "."
	}
	return top, filepath.ToSlash(below)
}

// checkNew refuses a folder with something in it.
func checkNew(folder string) error {
	if folder == "-" {
		return command.Usagef("name a folder that is new or empty",
			"several files are written, and not to standard output")
	}
	if entries, err := os.ReadDir(folder); len(entries) > 0 || err != nil && !os.IsNotExist(err) {
		return command.Usagef("name a folder that is new or empty", "%s is not an empty folder", folder)
	}
	return nil
}

// write writes the inputs and the pipeline.
func (d *destination) write(files []installation.File) error {
	return write(d.folder, append(files, installation.File{Path: "pipeline.yaml", Data: d.pipeline}))
}

// write writes files to a folder. Kubernetes keeps slashes out of names, but an export can hold anything.
func write(folder string, files []installation.File) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() // files are closed already
	for _, f := range files {
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(f.Path)), 0o777); err != nil {
			return err
		}
		if err := root.WriteFile(filepath.FromSlash(f.Path), f.Data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// String says what reads the inputs, and what is still to be done.
func (d *destination) String() string {
	file := filepath.Join(d.folder, "pipeline.yaml")
	if d.isKnown {
		return "pipeline: " + file
	}
	return "pipeline: " + file + "; write the address of the repository that it goes into to spec.sources[0].url"
}
