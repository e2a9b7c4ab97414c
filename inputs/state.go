package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/argocd"
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
	first       map[manifest.ID]stated // what was read, until the whole folder is
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
	state.isThere, state.Namespaces, state.first = true, map[string]map[string]string{}, map[manifest.ID]stated{}
	if err := s.readStateBelow(folder, 0); err != nil {
		return err
	}
	state.first = nil
	slices.Sort(state.apiVersions)
	state.apiVersions = slices.Compact(state.apiVersions)
	state.objects = s.allowed(state.objects)
	if s.Options.Tenants.All != "" { // a tenant says nothing about the namespaces of others
		state.Namespaces = nil
	}
	return nil
}

// maxStateDepth limits how deep folders are in the one of the cluster's state.
const maxStateDepth = 32

func (s *search) readStateBelow(folder string, depth int) error {
	entries, err := s.tree.List(folder)
	if err != nil {
		return ignoreMissing(err)
	}
	if depth > maxStateDepth {
		s.layout.state.report(diag.UnreadableFile, folder, 0,
			fmt.Sprintf("is nested more than %d folders deep, so nothing in it is read", maxStateDepth),
			"put its files higher up")
		return nil
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name)
		switch {
		case strings.HasPrefix(e.Name, "."):
		case e.IsDir:
			err = s.readStateBelow(name, depth+1)
		case e.Name == APIVersionsFile, manifest.IsManifestPath(e.Name):
			err = s.readStateFile(name)
		default:
			if _, isDir, _ := s.tree.Resolve(name); isDir {
				s.layout.state.report(diag.SymlinkRefused, name, 0, "is a link to a folder, in which nothing is read",
					"put the folder in its place")
			}
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
	docs, found := manifest.Documents(manifest.File{Path: name, Data: text})
	state.Diags = append(state.Diags, found...)
	if len(docs)+len(found) == 0 && !utf8.Valid(text) {
		state.report(diag.NotUTF8, name, 1, "is encrypted or no text, so it says nothing about the cluster",
			"write it as kubectl get -o yaml prints it")
	}
	found = nil
	for _, d := range docs {
		found = append(found, state.read(stated{Document: d, fields: d.Fields})...)
	}
	state.Diags = append(state.Diags, found...)
	return nil
}

func (s *State) report(code diag.Code, file string, line int, message, hint string) {
	d := code.At("", "%s", message).WithHint(hint)
	d.File, d.Line = file, line
	s.Diags = append(s.Diags, d)
}

// readAPIVersions reads a file with a version in each line; # begins a comment.
func (s *State) readAPIVersions(name string, text []byte) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
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

// stated is an object in a file of the folder.
type stated struct {
	manifest.Document
	prefix string // of the paths of its fields in the document: empty, or such as items[3].
	fields map[string]any
	id     diag.Object
}

var _ manifest.Origin = stated{}

// Find implements [manifest.Origin].
func (o stated) Find(_, path string) (file string, line, column int) {
	line, column = o.Position(strings.TrimSuffix(o.prefix+path, "."))
	return o.File(), line, column
}

// finding returns a list with a finding about a field of the object.
func (o stated) finding(d diag.Diagnostic, hint string) diag.List {
	d.Object, d.Hint = o.id, hint
	d.File, d.Line, d.Column = o.Find("", d.Path)
	return diag.List{d}
}

// read reads an object or those of a List, and returns what is wrong with them.
func (s *State) read(o stated) (found diag.List) {
	items, isList := o.fields["items"].([]any)
	for i, item := range items {
		one := stated{Document: o.Document, prefix: fmt.Sprintf("%sitems[%d].", o.prefix, i)}
		if one.fields, _ = item.(map[string]any); len(one.fields) == 0 {
			continue
		}
		if found = append(found, s.read(one)...); len(found) > manifest.MaxFindings {
			return found
		}
	}
	if isList {
		return found
	}
	o.id.APIVersion, _ = o.fields["apiVersion"].(string)
	o.id.Kind, _ = o.fields["kind"].(string)
	meta, _ := o.fields["metadata"].(map[string]any)
	o.id.Namespace, _ = meta["namespace"].(string)
	o.id.Name, _ = meta["name"].(string)
	return s.add(o)
}

// group returns the API group of the object, which may be empty, and the version.
func (o stated) group() (group, version string) {
	group, version, hasGroup := strings.Cut(o.id.APIVersion, "/")
	if !hasGroup {
		return "", group
	}
	return group, version
}

// statedKinds are the kinds that say something about a cluster, with their API group.
var statedKinds = map[string]string{"ConfigMap": "", "Secret": "", manifest.NamespaceKind: "",
	"CustomResourceDefinition": "apiextensions.k8s.io"}

// misspelt returns the kind and apiVersion that an object seems to mean, if it does not say so.
func (o stated) misspelt() (kind, apiVersion string, found bool) {
	group, version := o.group()
	for kind, of := range statedKinds {
		isVersion := version == "v1" || of != "" && version == "v1beta1"
		if strings.EqualFold(o.id.Kind, kind) && (group == of || group == "") &&
			(o.id.Kind != kind || group != of || !isVersion) {
			return kind, path.Join(of, "v1"), true
		}
	}
	return "", "", false
}

// add adds an object, and returns what is wrong with it. Objects of other kinds say nothing about the cluster.
func (s *State) add(o stated) diag.List {
	if kind, apiVersion, found := o.misspelt(); found {
		return o.finding(diag.UnknownKind.At("apiVersion",
			"there is no kind %.100q with apiVersion %.100q, so it does not count", o.id.Kind, o.id.APIVersion),
			fmt.Sprintf("write kind: %s and apiVersion: %s", kind, apiVersion))
	}
	group, _ := o.group()
	if of, isStated := statedKinds[o.id.Kind]; !isStated || of != group {
		return nil
	}
	isReferred := o.id.Kind == "ConfigMap" || o.id.Kind == "Secret"
	missing := ""
	if isReferred && o.id.Namespace == "" {
		missing = "metadata.namespace"
	}
	if o.id.Name == "" {
		missing = "metadata.name"
	}
	if missing != "" {
		return o.finding(diag.InvalidMetadata.At(missing, "is required, so the object does not count"),
			"write it as kubectl get -o yaml prints it")
	}
	id := manifest.IDOf(o.id)
	if first, isThere := s.first[id]; isThere {
		file, line, _ := first.Find("", "")
		return o.finding(diag.DuplicateObject.At("", "already described at %s:%d; that description counts", file, line).
			Naming(file), "remove one of them")
	}
	s.first[id] = o
	switch {
	case isReferred:
		return s.addReferred(o)
	case o.id.Kind == manifest.NamespaceKind:
		return s.addNamespace(o)
	}
	s.define(o.fields)
	return nil
}

// addReferred adds a ConfigMap or Secret.
func (s *State) addReferred(o stated) (found diag.List) {
	value := o.fields
	if o.id.Kind == "Secret" && value["sops"] == nil {
		if argocd.IsCluster(value) && !argocd.ParseCluster(value).IsKnown() {
			found = o.finding(diag.InvalidSecret.At("", "declares a cluster to Argo CD without its name and server"),
				"write name and server in stringData: they are not secret, and config is not needed")
		}
		value = roots.AsStub(value)
	}
	s.objects = append(s.objects, roots.Object{Object: o.id, Value: value,
		Built: manifest.Built{Authors: []manifest.Author{{File: o.File()}}, Origin: o}})
	return found
}

// addNamespace adds the labels of a Namespace.
func (s *State) addNamespace(o stated) (found diag.List) {
	meta, _ := o.fields["metadata"].(map[string]any)
	written, _ := meta["labels"].(map[string]any)
	labels := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(written)) {
		text, isText := written[key].(string)
		if !isText {
			found = append(found, o.finding(diag.InvalidMetadata.At("metadata.labels["+key+"]", "is not a string, so "+
				"the Namespace does not count"), "quote it")...)
		}
		labels[key] = text
	}
	for _, d := range manifest.Namespaces(map[string]map[string]string{o.id.Name: labels}, o.File()).Diags {
		found = append(found, o.finding(d, cmp.Or(d.Hint, "correct it"))...)
	}
	if len(found) == 0 {
		s.Namespaces[o.id.Name] = labels
	}
	return found
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
