// Package applied finds the folders of a repository that Flux and Argo CD apply, by the custom resources in it.
//
// What agentry reads must not be in such a folder: the cluster has no CRDs for its kinds, so the tool would fail to
// apply the folder as a whole. The search reads manifests as they are. It does not see what only a build makes, such as
// an Application in a Helm chart.
package applied

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
)

const (
	// maxFileBytes limits the files that are searched: custom resources of Flux and Argo CD are small.
	maxFileBytes = 1 << 20
	// maxFiles limits the files that are searched in one repository.
	maxFiles = 100_000
)

// Repository is a checkout of a repository at a branch.
type Repository struct {
	Files tree.Files
	// URLs are the addresses of the repository, and Branch is the branch.
	URLs   []string
	Branch string
}

// Folder is a folder of the repository that a tool applies.
type Folder struct {
	// Tool is inputs.Flux or inputs.ArgoCD.
	Tool inputs.Mode
	// By is the custom resource that applies the folder, as KIND/NAMESPACE/NAME, and At is its position, as FILE:LINE.
	By, At string
	// Path is the folder, or a pattern as in path.Match if an ApplicationSet applies all folders that match.
	Path string
	// Source is what Flux fetches the repository by.
	Source Source
	// IsBootstrap means that the custom resource is in the folder that it applies, as after flux bootstrap.
	IsBootstrap bool

	files   tree.Files
	nested  bool     // the folders below are applied too
	exclude []string // patterns of folders that an ApplicationSet leaves out
}

// Source is a GitRepository of Flux.
type Source struct {
	Namespace, Name, URL string
	// Secret is the name of the Secret with the login, or empty.
	Secret string
}

// String names the custom resource and where it is.
func (f Folder) String() string { return f.By + " (" + f.At + ")" }

// ToolName returns the name of the tool for people.
func (f Folder) ToolName() string {
	if f.Tool == inputs.Flux {
		return "Flux"
	}
	return "Argo CD"
}

// Applies reports whether the tool applies a file of the repository, which need not be there yet.
func (f Folder) Applies(name string) bool {
	at, ok := f.root(name)
	if !ok {
		return false
	}
	t := tree.ForSearch(context.Background(), f.files)
	builds := func(dir string) bool { found, err := kustomize.Find(t, dir); return found != "" || err != nil }
	names := func(dir string) bool {
		refs, err := kustomize.Inspect(t, dir, manifest.Tenants{}, nil)
		return err == nil && refs.Files[name]
	}
	if builds(at) {
		return names(at)
	}
	if f.Tool == inputs.ArgoCD {
		if _, err := fs.Stat(f.files, path.Join(at, chart.FileName)); err == nil {
			return false // a chart
		}
		return path.Dir(name) == at || f.nested && pipeline.Within(at, name)
	}
	if !pipeline.Within(at, name) {
		return false
	}
	below := strings.TrimPrefix(name, at+"/")
	for i, c := range below { // what Flux generates names folders with a kustomization, and all other files
		if dir := path.Join(at, below[:i]); c == '/' && builds(dir) {
			return names(dir)
		}
	}
	return true
}

// root returns the applied folder that may have to do with a file.
func (f Folder) root(name string) (string, bool) {
	if !strings.ContainsAny(f.Path, `*?[`) {
		return f.Path, true
	}
	parts := strings.Split(path.Dir(name), "/")
	depth := strings.Count(f.Path, "/") + 1
	if len(parts) < depth {
		return "", false
	}
	at := path.Join(parts[:depth]...)
	matches := func(pattern string) bool { is, err := path.Match(pattern, at); return is && err == nil }
	return at, matches(f.Path) && !slices.ContainsFunc(f.exclude, matches)
}

// Find returns the folders that are applied from the branch, in the order of their files.
func (r Repository) Find() ([]Folder, error) {
	var found []manifest.Document
	n := 0
	err := fs.WalkDir(r.Files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case !d.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)):
			return nil
		}
		if n++; n > maxFiles {
			return fmt.Errorf("there are more than %d manifests", maxFiles)
		}
		if info, err := d.Info(); err != nil || info.Size() > maxFileBytes {
			return err
		}
		text, err := r.Files.ReadFile(name)
		if err != nil || !mayHold(string(text)) {
			return err
		}
		docs, _ := manifest.Documents(manifest.File{Path: name, Data: text}) // what is wrong with it is not our concern
		found = append(found, docs...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	sources := map[string]fetched{}
	for _, d := range found {
		if isKind(d, "source.toolkit.fluxcd.io", "GitRepository") {
			s := Source{Namespace: namespace(d), Name: d.Name, URL: text(d, "spec.url"),
				Secret: text(d, "spec.secretRef.name")}
			sources[s.Namespace+"/"+s.Name] = fetched{s, branchOf(d)}
		}
	}
	var out []Folder
	for _, d := range found {
		switch {
		case isKind(d, "kustomize.toolkit.fluxcd.io", "Kustomization"):
			out = append(out, r.kustomization(d, sources)...)
		case isKind(d, "fluxcd.controlplane.io", "FluxInstance"):
			out = append(out, r.instance(d)...)
		case isKind(d, "argoproj.io", "Application"):
			out = append(out, r.application(d, d.Fields["spec"])...)
		case isKind(d, "argoproj.io", "ApplicationSet"):
			out = append(out, r.applicationSet(d)...)
		}
	}
	return out, nil
}

// mayHold reports whether a text may hold a custom resource that is looked for: most files are not parsed.
func mayHold(text string) bool {
	return strings.Contains(text, ".toolkit.fluxcd.io/") || strings.Contains(text, "fluxcd.controlplane.io/") ||
		strings.Contains(text, "argoproj.io/")
}

func isKind(d manifest.Document, group, kind string) bool {
	of, _, _ := strings.Cut(d.APIVersion, "/")
	return of == group && d.Kind == kind
}

// fetched is a source with the branch that it follows.
type fetched struct {
	Source
	branch string
}

// kustomization returns the folder of a Kustomization. A repository without a definition of its source counts if it has
// the name that flux bootstrap gives it.
func (r Repository) kustomization(d manifest.Document, sources map[string]fetched) []Folder {
	const bootstrap = "flux-system"
	if kind := text(d, "spec.sourceRef.kind"); kind != "GitRepository" {
		return nil
	}
	s := Source{Namespace: cmp.Or(text(d, "spec.sourceRef.namespace"), namespace(d)),
		Name: text(d, "spec.sourceRef.name")}
	known, isKnown := sources[s.Namespace+"/"+s.Name]
	switch {
	case isKnown && (!r.is(known.URL) || !r.isBranch(known.branch)):
		return nil
	case isKnown:
		s = known.Source
	case s.Name != bootstrap || s.Namespace != bootstrap:
		return nil
	}
	return r.flux(d, text(d, "spec.path"), s)
}

// instance returns the folder that an instance of the Flux Operator applies.
func (r Repository) instance(d manifest.Document) []Folder {
	s := Source{Namespace: namespace(d), Name: cmp.Or(text(d, "spec.sync.name"), namespace(d)),
		URL: text(d, "spec.sync.url"), Secret: text(d, "spec.sync.pullSecret")}
	branch, isBranch := strings.CutPrefix(text(d, "spec.sync.ref"), "refs/heads/")
	if text(d, "spec.sync.kind") != "GitRepository" || !r.is(s.URL) || !isBranch || !r.isBranch(branch) {
		return nil
	}
	return r.flux(d, text(d, "spec.sync.path"), s)
}

func (r Repository) flux(d manifest.Document, at string, s Source) []Folder {
	if strings.Contains(at, "$") {
		return nil // only Flux knows the variable
	}
	f := r.folder(d, inputs.Flux, at)
	f.Source, f.IsBootstrap = s, pipeline.Within(f.Path, d.File())
	return []Folder{f}
}

// application returns the folders of the sources of an Application, or of the template of an ApplicationSet.
func (r Repository) application(d manifest.Document, spec any) (out []Folder) {
	fields, _ := spec.(map[string]any)
	sources, _ := fields["sources"].([]any)
	for _, source := range append(sources, fields["source"]) {
		s, _ := source.(map[string]any)
		url, _ := s["repoURL"].(string)
		at, hasPath := s["path"].(string)
		revision, _ := s["targetRevision"].(string)
		directory, _ := s["directory"].(map[string]any)
		if !hasPath || !r.is(url) || !r.isBranch(strings.TrimPrefix(revision, "refs/heads/")) {
			continue
		}
		if directory["include"] != nil || directory["exclude"] != nil {
			continue // somebody has chosen files
		}
		f := r.folder(d, inputs.ArgoCD, at)
		f.nested, _ = directory["recurse"].(bool)
		out = append(out, f)
	}
	return out
}

// applicationSet returns the folders of an ApplicationSet that has an Application for each folder that matches.
func (r Repository) applicationSet(d manifest.Document) (out []Folder) {
	template, _ := d.Field("spec.template.spec").(map[string]any)
	for _, f := range r.application(d, template) {
		if variable := strings.ReplaceAll(f.Path, " ", ""); variable != "{{path}}" && variable != "{{.path.path}}" {
			if !strings.Contains(variable, "{{") {
				out = append(out, f)
			}
			continue
		}
		var patterns []string
		for _, one := range r.directories(d.Field("spec.generators")) {
			at, _ := one["path"].(string)
			if leaves, _ := one["exclude"].(bool); leaves {
				f.exclude = append(f.exclude, clean(at))
			} else {
				patterns = append(patterns, clean(at))
			}
		}
		for _, pattern := range patterns {
			f.Path = pattern
			out = append(out, f)
		}
	}
	return out
}

// directories returns the directories of all Git generators of this repository, however deep they are.
func (r Repository) directories(generators any) (out []map[string]any) {
	switch g := generators.(type) {
	case []any:
		for _, one := range g {
			out = append(out, r.directories(one)...)
		}
	case map[string]any:
		for name, of := range g {
			git, isMap := of.(map[string]any)
			url, _ := git["repoURL"].(string)
			if name != "git" || !isMap || !r.is(url) {
				out = append(out, r.directories(of)...)
				continue
			}
			list, _ := git["directories"].([]any)
			for _, one := range list {
				if directory, isMap := one.(map[string]any); isMap {
					out = append(out, directory)
				}
			}
		}
	}
	return out
}

func (r Repository) folder(d manifest.Document, tool inputs.Mode, at string) Folder {
	line, _ := d.Position("")
	by := diag.Object{Kind: d.Kind, Namespace: text(d, "metadata.namespace"), Name: d.Name}
	return Folder{Tool: tool, By: by.String(), At: fmt.Sprintf("%s:%d", d.File(), line), Path: clean(at),
		files: r.Files}
}

// clean returns a path from the top of the repository. Flux and Argo CD keep it in there.
func clean(at string) string { return path.Clean("." + path.Join("/", at)) }

// is reports whether a URL is one of the repository.
func (r Repository) is(url string) bool {
	return slices.ContainsFunc(r.URLs, func(own string) bool {
		return url != "" && pipeline.SameRepository(own, url)
	})
}

// isBranch reports whether a revision is the branch, or may be.
func (r Repository) isBranch(revision string) bool {
	return revision == r.Branch || revision == "" || revision == "HEAD" || r.Branch == ""
}

// branchOf returns the branch that a GitRepository follows, or another revision.
func branchOf(d manifest.Document) string {
	for _, field := range []string{"commit", "name", "semver", "tag", "branch"} { // Flux's order of precedence
		if value := text(d, "spec.ref."+field); value != "" {
			return strings.TrimPrefix(value, "refs/heads/")
		}
	}
	return ""
}

func namespace(d manifest.Document) string { return cmp.Or(text(d, "metadata.namespace"), "default") }

func text(d manifest.Document, field string) string {
	value, _ := d.Field(field).(string)
	return value
}
