package argocd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// gitSpec is the spec of a git generator, which finds folders or files of a repository.
type gitSpec struct {
	RepoURL         string            `json:"repoURL"`
	Revision        string            `json:"revision"`
	Directories     []gitItem         `json:"directories"`
	Files           []gitItem         `json:"files"`
	PathParamPrefix string            `json:"pathParamPrefix"`
	Values          map[string]string `json:"values"`
}

type gitItem struct {
	Path    string `json:"path"`
	Exclude bool   `json:"exclude"`
}

// git returns a parameter set for each folder, or for each map in each file.
func (r *run) git(ctx context.Context, field string, raw map[string]any) ([]map[string]any, error) {
	var spec gitSpec
	if err := convert(raw, field, &spec); err != nil {
		return nil, err
	}
	if len(spec.Directories)+len(spec.Files) == 0 {
		return nil, problem(field, "set directories or files", "it has neither directories nor files")
	}
	top, err := find(r.Repositories, field+".repoURL", spec.RepoURL)
	if err != nil {
		return nil, err
	}
	t := repository{r.Files, top}
	var out []map[string]any
	if len(spec.Directories) > 0 { // Argo CD then ignores files
		out, err = r.folders(t, spec)
	} else {
		out, err = r.files(field, t, spec)
	}
	if err != nil {
		return nil, readProblem(field, err)
	}
	return out, r.values(ctx, field, spec.Values, out)
}

// readProblem turns an error from reading a tree into a problem if the content of the tree is to blame.
func readProblem(field string, err error) error {
	if errors.Is(err, tree.ErrTooMuch) || errors.Is(err, tree.ErrTooLarge) || errors.Is(err, tree.ErrOutside) ||
		errors.Is(err, fs.ErrNotExist) {
		return problem(field, "", "%s", err.Error())
	}
	return err
}

func (r *run) folders(t repository, spec gitSpec) ([]map[string]any, error) {
	found := map[string]bool{}
	for _, item := range spec.Directories {
		if item.Exclude {
			continue
		}
		if err := foldersLike(t, ".", strings.Split(item.Path, "/"), found); err != nil {
			return nil, err
		}
	}
	var out []map[string]any
	for _, name := range slices.Sorted(maps.Keys(found)) {
		isExcluded := func(item gitItem) bool {
			matches, err := path.Match(item.Path, name)
			return item.Exclude && matches && err == nil
		}
		if slices.ContainsFunc(spec.Directories, isExcluded) {
			continue
		}
		set := map[string]any{}
		r.putPath(set, spec.PathParamPrefix, name, "")
		out = append(out, set)
	}
	return out, nil
}

// foldersLike finds the folders below dir that match a [path.Match] pattern, split at slashes. It skips hidden
// folders.
func foldersLike(t repository, dir string, steps []string, found map[string]bool) error {
	entries, err := t.List(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		matches, err := path.Match(steps[0], e.Name)
		if err != nil || !matches || !e.IsDir || strings.HasPrefix(e.Name, ".") {
			continue
		}
		if len(steps) == 1 {
			found[path.Join(dir, e.Name)] = true
		} else if err := foldersLike(t, path.Join(dir, e.Name), steps[1:], found); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) files(field string, t repository, spec gitSpec) ([]map[string]any, error) {
	found := map[string]bool{}
	for _, exclude := range []bool{false, true} {
		for _, item := range spec.Files {
			if item.Exclude != exclude {
				continue
			}
			matches, err := filesLike(t, item.Path)
			if err != nil {
				return nil, err
			}
			for _, name := range matches {
				found[name] = !exclude
			}
		}
	}
	var out []map[string]any
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !found[name] {
			continue
		}
		objects, err := objectsOf(t, field, name)
		if err != nil {
			return nil, err
		}
		for _, set := range objects {
			if !r.spec.GoTemplate {
				texts := map[string]string{}
				flatten(set, "", texts)
				set = map[string]any{}
				for key, value := range texts {
					set[key] = value
				}
			}
			r.putPath(set, spec.PathParamPrefix, path.Dir(name), path.Base(name))
			out = append(out, set)
		}
		if len(out) > MaxApplications {
			return nil, problem(field+".files", "split the ApplicationSet", "they generate more than %d parameter sets",
				MaxApplications)
		}
	}
	return out, nil
}

// filesLike finds the files that git ls-files would list for a path: one file, all files below a folder, or all files
// that match a pattern.
func filesLike(t repository, like string) ([]string, error) {
	base := like
	if i := strings.IndexAny(like, `*?[\`); i >= 0 {
		base = path.Dir(like[:i] + "x")
	}
	base = path.Clean(base)
	_, isDir, err := t.Resolve(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !isDir:
		return []string{base}, nil
	}
	all, err := filesBelow(t, base, 0)
	if err != nil || !strings.ContainsAny(like, `*?[\`) {
		return all, err
	}
	expression := pattern{slashes: true}.compile(like)
	if expression == nil {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(name string) bool { return !expression.MatchString(name) }), nil
}

// filesBelow lists all files below a folder. The folder's own files come first.
func filesBelow(t repository, dir string, depth int) ([]string, error) {
	const maxDepth = 64
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: the folders of %s nest deeper than %d", tree.ErrTooMuch, dir, maxDepth)
	}
	out, err := filesIn(t, dir)
	if err != nil {
		return nil, err
	}
	entries, err := t.List(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir || e.Name == ".git" {
			continue
		}
		below, err := filesBelow(t, path.Join(dir, e.Name), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	return out, nil
}

// filesIn lists the files directly in a folder.
func filesIn(t repository, dir string) ([]string, error) {
	entries, err := t.List(dir)
	var out []string
	for _, e := range entries {
		if !e.IsDir {
			out = append(out, path.Join(dir, e.Name))
		}
	}
	return out, err
}

// objectsOf returns the map or the list of maps in a file.
func objectsOf(t repository, field, name string) ([]map[string]any, error) {
	text, err := t.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a link to nothing
	}
	if err != nil {
		return nil, err
	}
	one := map[string]any{}
	if yaml.Unmarshal(text, &one) == nil {
		return []map[string]any{one}, nil
	}
	var many []map[string]any
	if yaml.Unmarshal(text, &many) != nil {
		return nil, problem(field+".files", "correct the file, or exclude it",
			"the file %s holds neither a map nor a list of maps", name)
	}
	return many, nil
}

// putPath adds the path parameters of a folder or file to a set.
func (r *run) putPath(set map[string]any, prefix, dir, file string) {
	of := map[string]string{"basename": path.Base(dir), "basenameNormalized": helm.Normalize(path.Base(dir))}
	if file != "" {
		of["filename"], of["filenameNormalized"] = file, helm.Normalize(file)
	}
	segments := strings.Split(dir, "/")
	if !r.spec.GoTemplate {
		name := "path"
		if prefix != "" {
			name = prefix + "." + name
		}
		set[name] = dir
		for key, value := range of {
			set[name+"."+key] = value
		}
		for i, s := range segments {
			set[fmt.Sprintf("%s[%d]", name, i)] = s
		}
		return
	}
	at := map[string]any{"path": dir, "segments": []any{}}
	for key, value := range of {
		at[key] = value
	}
	for _, s := range segments {
		at["segments"] = append(at["segments"].([]any), s)
	}
	if prefix != "" {
		set[prefix] = map[string]any{"path": at}
	} else {
		set["path"] = at
	}
}
