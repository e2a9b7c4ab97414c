package inputs

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// APIVersionsFile is the file of a cluster's state with its API versions, one in each line, as kubectl api-versions
// prints them.
const APIVersionsFile = "api-versions.txt"

// State is what a cluster has and Git does not: the manifests in a folder that describes it. Nothing in it is applied.
// ConfigMaps and Secrets are for whoever refers to them, CustomResourceDefinitions and [APIVersionsFile] for charts,
// and Namespaces for selectors. In a Secret, a key without a value stands for a value that is not known.
type State struct {
	// Namespaces are the labels of Namespaces, by name.
	Namespaces map[string]map[string]string
	// Diags are about the files.
	Diags       diag.List
	isThere     bool
	objects     []roots.Object // ConfigMaps and Secrets
	apiVersions []string
}

// State returns the state of the cluster, which is empty if no folder describes it.
func (l *Layout) State() State {
	if l == nil {
		return State{}
	}
	return l.state
}

// IsThere reports whether the folder exists.
func (s State) IsThere() bool { return s.isThere }

// readState reads the folder that describes the cluster.
func (s *search) readState() error {
	if s.Cluster == "" {
		return nil
	}
	folder := path.Clean(s.Cluster)
	_, isDir, err := s.tree.Resolve(folder)
	if err != nil || !isDir {
		return ignoreMissing(err)
	}
	s.layout.covered[folder] = true
	state := &s.layout.state
	state.isThere, state.Namespaces = true, map[string]map[string]string{}
	if err := s.readStateBelow(folder, 0); err != nil {
		return err
	}
	slices.Sort(state.apiVersions)
	state.apiVersions = slices.Compact(state.apiVersions)
	state.objects = s.allowed(state.objects)
	if s.Options.Tenants.All != "" { // a tenant says nothing about the namespaces of others
		state.Namespaces = nil
	}
	return nil
}

func (s *search) readStateBelow(folder string, depth int) error {
	const maxDepth = 32 // links can make folders nest endlessly
	entries, err := s.tree.List(folder)
	if err != nil || depth > maxDepth {
		return ignoreMissing(err)
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name)
		switch {
		case strings.HasPrefix(e.Name, "."):
		case e.IsDir:
			err = s.readStateBelow(name, depth+1)
		case e.Name == APIVersionsFile, manifest.IsManifestPath(e.Name):
			err = s.readStateFile(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *search) readStateFile(name string) error {
	state := &s.layout.state
	text, err := s.tree.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, tree.ErrOutside):
		return nil
	case errors.Is(err, tree.ErrTooLarge):
		state.report(diag.FileTooLarge, name, 0, "is larger than a manifest may be", "split it")
		return nil
	case err != nil:
		return err
	}
	if path.Base(name) == APIVersionsFile {
		state.readAPIVersions(name, text)
		return nil
	}
	for doc := range bytes.SplitSeq(append([]byte("\n"), text...), []byte("\n---")) {
		var object map[string]any
		if err := yaml.Unmarshal(doc, &object); err != nil { // the error could quote a value
			state.report(diag.InvalidYAML, name, 0, "is not valid YAML, so it says nothing about the cluster",
				"write it as kubectl get -o yaml prints it")
			return nil
		}
		items, isList := object["items"].([]any)
		if !isList {
			items = []any{object}
		}
		for _, item := range items {
			if object, _ := item.(map[string]any); len(object) > 0 {
				state.add(name, object)
			}
		}
	}
	return nil
}

func (s *State) report(code diag.Code, file string, line int, message, hint string) {
	d := code.At("", "%s", message).WithHint(hint)
	d.File, d.Line = file, line
	s.Diags = append(s.Diags, d)
}

// readAPIVersions reads a file with a version in each line; # begins a comment.
func (s *State) readAPIVersions(name string, text []byte) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, err := (helm.Cluster{APIVersions: []string{line}}).Check(); err != nil {
			s.report(diag.InvalidYAML, name, n, err.Error(),
				"write one in each line, as kubectl api-versions prints them")
			continue
		}
		s.apiVersions = append(s.apiVersions, line)
	}
}

// add adds an object of a file.
func (s *State) add(file string, object map[string]any) {
	meta, _ := object["metadata"].(map[string]any)
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	switch {
	case name == "":
	case apiVersion == "v1" && kind == manifest.NamespaceKind:
		labels := map[string]string{}
		found, _ := meta["labels"].(map[string]any)
		for key, value := range found {
			labels[key], _ = value.(string)
		}
		s.Namespaces[name] = labels
	case apiVersion == "v1" && (kind == "ConfigMap" || kind == "Secret"):
		if kind == "Secret" && object["sops"] == nil {
			object = roots.AsStub(object)
		}
		s.objects = append(s.objects, roots.Object{
			Built:  manifest.Built{Authors: []manifest.Author{{File: file}}},
			Object: diag.Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}, Value: object})
	case kind == "CustomResourceDefinition":
		s.define(object)
	}
}

// define adds the API versions of a CustomResourceDefinition.
func (s *State) define(crd map[string]any) {
	spec, _ := crd["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ := spec["group"].(string)
	kind, _ := names["kind"].(string)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		if group == "" || name == "" || version["served"] == false {
			continue
		}
		for _, one := range []string{group + "/" + name, group + "/" + name + "/" + kind} {
			if _, err := (helm.Cluster{APIVersions: []string{one}}).Check(); err == nil {
				s.apiVersions = append(s.apiVersions, one)
			}
		}
	}
}

// in returns a root as it is built in the cluster: its charts see the API versions of the cluster.
func (s State) in(r Root) Root {
	r.APIVersions = s.apiVersions
	return r
}
