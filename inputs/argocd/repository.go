package argocd

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// repository is a Git repository mounted in a folder. Names are relative to that folder.
type repository struct {
	files *tree.Tree
	top   string
}

// find returns the folder in which the repository with a URL is mounted.
func find(known roots.Repositories, field, url string) (top string, err error) {
	id := hostAndPath(url)
	if top, found := known.Find(id, url); found {
		return top, nil
	}
	return "", known.Unknown(field, "https://"+id, url)
}

// warnings returns a warning for each source with another revision than the pipeline reads.
func (a *Application) warnings(known roots.Repositories) diag.List {
	var out diag.List
	for _, s := range a.Spec.Sources {
		if s.Chart != "" || s.isOCI() {
			continue
		}
		if top, found := known.Find(hostAndPath(s.RepoURL), s.RepoURL); found {
			out = append(out, known.Warn(top, s.Field+".targetRevision", s.TargetRevision)...)
		}
	}
	return out
}

// appliesOutput reports whether all sources are what agentry writes.
func (a *Application) appliesOutput(known roots.Repositories) bool {
	return len(a.Spec.Sources) > 0 && !slices.ContainsFunc(a.Spec.Sources, func(s Source) bool {
		return s.Chart != "" || !known.IsOutput(s.RepoURL, s.TargetRevision)
	})
}

// setWarnings returns a warning for each generator of an ApplicationSet with another revision than the pipeline reads,
// or with clusters that Argo CD would not find.
func (r *walk) setWarnings(set roots.Object) diag.List {
	spec, _ := set.Value["spec"].(map[string]any)
	return r.generatorWarnings("spec.generators", spec["generators"], set.Namespace, 0)
}

func (r *walk) generatorWarnings(field string, generators any, namespace string, nesting int) (out diag.List) {
	list, _ := generators.([]any)
	for i, raw := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		generator, _ := raw.(map[string]any)
		for _, kind := range []string{"matrix", "merge"} {
			if of, ok := generator[kind].(map[string]any); ok && nesting <= maxNesting { // deeper ones are refused
				more := r.generatorWarnings(at+"."+kind+".generators", of["generators"], namespace, nesting+1)
				out = append(out, more...)
			}
		}
		if _, has := generator["clusters"]; has {
			out = append(out, r.clusterWarnings(at+".clusters", namespace)...)
		}
		git, _ := generator["git"].(map[string]any)
		url, _ := git["repoURL"].(string)
		revision, _ := git["revision"].(string)
		if strings.Contains(url+revision, "{{") {
			continue // only the other generator of a matrix knows it
		}
		if top, found := r.Repositories.Find(hostAndPath(url), url); found {
			out = append(out, r.Repositories.Warn(top, at+".git.revision", revision)...)
		}
	}
	return out
}

// clusterWarnings returns a warning if Secrets of clusters are neither in the namespace of an ApplicationSet nor in the
// usual one: Argo CD reads them only in its own.
func (r *walk) clusterWarnings(field, namespace string) diag.List {
	var elsewhere []string
	for _, c := range r.clusters {
		if of, _, _ := strings.Cut(c.Secret, "/"); of != namespace && of != ownNamespace {
			elsewhere = append(elsewhere, fmt.Sprintf("%s (%s)", c.Secret, c.File))
		}
	}
	if len(elsewhere) == 0 {
		return nil
	}
	const maxNamed = 3
	names := strings.Join(elsewhere[:min(len(elsewhere), maxNamed)], ", ")
	if more := len(elsewhere) - maxNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return diag.List{diag.InvalidSecret.At(field, "Argo CD reads Secrets of clusters only in its own namespace, but "+
		"these count here, too: %s", names).
		WithHint("move them to the namespace of Argo CD, or take the label " + secretType + " from them")}
}

// hostAndPath returns the host and path of a URL, without credentials.
func hostAndPath(url string) string {
	_, id, isURL := strings.Cut(url, "://")
	if !isURL {
		id = strings.Replace(url, ":", "/", 1) // HOST:PATH
	}
	host, rest, _ := strings.Cut(id, "/")
	id = host[strings.LastIndex(host, "@")+1:] + "/" + rest
	return strings.TrimSuffix(strings.TrimSuffix(id, "/"), ".git")
}

// in returns the full name of a file in the repository. ".." must not lead out of the repository.
func (r repository) in(name string) (string, error) {
	if clean := path.Clean(name); clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("%s %w", name, tree.ErrOutside)
	}
	return path.Join(r.top, name), nil
}

// Resolve is like [tree.Tree.Resolve].
func (r repository) Resolve(name string) (real string, isDir bool, err error) {
	if name, err = r.in(name); err != nil {
		return "", false, err
	}
	return r.files.Resolve(name)
}

// ReadFile is like [tree.Tree.ReadFile].
func (r repository) ReadFile(name string) ([]byte, error) {
	name, err := r.in(name)
	if err != nil {
		return nil, err
	}
	return r.files.ReadFile(name)
}

// List is like [tree.Tree.List].
func (r repository) List(name string) ([]tree.Entry, error) {
	name, err := r.in(name)
	if err != nil {
		return nil, err
	}
	return r.files.List(name)
}
