package inputs

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/argocd"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/flux"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/fault"
)

// walk is how the custom resources of a mode are followed.
type walk struct {
	follow  roots.Walk
	follows func(apiVersion, kind string) bool // the kinds that it looks at
	paths   func(s *search, name string) ([]Root, error)
}

// walk says how the custom resources of the mode are followed, if it does that.
func (s Search) walk() walk {
	switch s.Mode {
	case Flux:
		return walk{flux.Walker{Repositories: s.Repositories}.Walk, flux.Follows, (*search).pathRoot}
	case ArgoCD:
		w := argocd.Walker{Repositories: s.Repositories}
		if s.Options.Charts != nil {
			w.Cluster = s.Options.Charts.Cluster.Name
		}
		return walk{w.Walk, argocd.Follows, (*search).entries}
	}
	return walk{}
}

// seen are the objects of a root that are followed, and what they depend on.
type seen struct {
	objects []roots.Object
	reads   tree.Reads
	charts  chart.Uses
}

// isSame reports whether a search would see the same.
func (r seen) isSame(s Search) bool {
	return r.reads.Same(s.Files, s.Changed) && s.Options.Charts.IsCurrent(r.charts)
}

// follow finds the roots that custom resources ask for, from the paths on.
func (s *search) follow(w walk) error {
	var paths []Root
	for _, p := range s.Paths {
		found, err := w.paths(s, path.Clean(p))
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	found, err := w.follow(s.ctx, paths, func(wanted ...Root) ([][]roots.Object, error) { return s.look(wanted, w.follows) })
	s.layout.Roots = append(found, slices.SortedFunc(maps.Values(s.refused), func(a, b Root) int { return strings.Compare(a.Name, b.Name) })...)
	return err
}

// pathRoot returns the root that a path is: what Flux would apply if it were named by a Kustomization.
func (s *search) pathRoot(name string) ([]Root, error) {
	isDir, found, err := s.isThere(name)
	if err != nil || !found {
		return nil, err
	}
	if !isDir {
		return []Root{{Name: name, Folder: path.Dir(name), Generate: &kustomize.Generate{File: path.Base(name)}}}, nil
	}
	file, err := s.kustomization(name)
	if file == "" {
		file = path.Join(name, "kustomization.yaml")
	}
	return []Root{{Name: file, Folder: name, Generate: &kustomize.Generate{}}}, infrastructure(err)
}

// isThere reports whether a path is read here. One that is not is reported as missing or as a link.
func (s *search) isThere(name string) (isDir, found bool, err error) {
	real, isDir, err := s.tree.Resolve(name)
	if err != nil || real != name || s.Skip != nil && s.Skip(name) {
		return false, false, infrastructure(err)
	}
	s.layout.covered[name] = true
	return isDir, true, nil
}

// entries returns the roots of a path in which Applications are looked for. Somebody applies a kustomization that is named.
// Of all else only the custom resources of Argo CD count, also of kustomizations below the path.
func (s *search) entries(name string) ([]Root, error) {
	isDir, found, err := s.isThere(name)
	if err != nil || !found {
		return nil, err
	}
	file := ""
	if isDir {
		file, err = s.kustomization(name)
	}
	if err != nil || file != "" {
		return []Root{{Name: file, Folder: name}}, infrastructure(err)
	}
	out := []Root{{Name: name, Make: argocd.Entries{Path: name}}}
	if !isDir {
		return out, nil
	}
	below := &search{Search: s.Search, ctx: s.ctx, tree: s.tree, layout: &Layout{covered: s.layout.covered, refs: s.layout.refs}, named: map[string]bool{}, found: map[string]string{}}
	if err := errors.Join(below.folder(name, true), below.choose()); err != nil {
		return nil, err
	}
	for _, r := range below.layout.Roots {
		out = append(out, Root{Name: r.Name, Make: argocd.Only{Root: r}})
	}
	return out, nil
}

// look builds roots on all processors, unless what they give is known from the layout before.
func (s *search) look(wanted []Root, follows func(apiVersion, kind string) bool) ([][]roots.Object, error) {
	found := make([]seen, len(wanted))
	errs := make([]error, len(wanted))
	var fresh []int
	for i, r := range wanted { // one after the other, for they share the files
		known := false
		if found[i], known = s.known(r); !known {
			fresh = append(fresh, i)
		}
	}
	fault.Each(len(fresh), func(k int) { i := fresh[k]; found[i], errs[i] = s.lookAt(wanted[i], follows) })
	out := make([][]roots.Object, len(wanted))
	for i, r := range wanted {
		s.layout.seen[r.Digest()] = found[i]
		out[i] = s.allowed(given(r, found[i].objects))
	}
	return out, errors.Join(errs...)
}

// given are the objects of a root, whose authors had a say in each.
func given(r Root, objects []roots.Object) []roots.Object {
	by := r.Authors()
	if len(by) == 0 {
		return objects
	}
	objects = slices.Clone(objects)
	for i := range objects {
		objects[i].Authors = slices.Concat(objects[i].Authors, by)
	}
	return objects
}

// allowed are the objects that may be followed, and that what is followed may refer to. What a tenant's file defines elsewhere
// than in the tenant's namespace takes nobody's place.
func (s *search) allowed(objects []roots.Object) []roots.Object {
	if !s.Options.Tenants.IsSet() {
		return objects
	}
	var out []roots.Object
	for _, o := range objects {
		tenant, message, hint := s.Options.Tenants.Breach(manifest.ID{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, o.Authors)
		isCluster := s.Mode == ArgoCD && o.Kind == "Secret" && tenant != ""
		if o.Tenant = tenant; message == "" && !isCluster {
			out = append(out, o)
		}
		if message != "" && o.APIVersion != "v1" { // those of v1 are read, and refused, as all objects are
			by := &roots.By{Object: o.Object, Built: o.Built}
			name := by.Name() + " of tenant " + tenant // nobody else's root has it
			s.refused[name] = Root{Name: name, By: by, Problem: &roots.Problem{Code: diag.Tenancy, Field: "metadata.namespace", Message: message, Hint: hint}}
		}
	}
	return out
}

// known returns what a root gave to the layout before, if it gives that still.
func (s *search) known(r Root) (seen, bool) {
	if s.Before == nil || s.Before.tenants != s.Options.Tenants {
		return seen{}, false
	}
	before, found := s.Before.seen[r.Digest()]
	return before, found && before.isSame(s.Search)
}

func (s *search) lookAt(r Root, follows func(apiVersion, kind string) bool) (seen, error) {
	files, done, err := s.Options.Open()
	if err != nil {
		return seen{}, err
	}
	defer done()
	b, err := s.Builds.build(s.ctx, files, r, s.Options)
	if err != nil {
		return seen{}, err
	}
	return seen{roots.Objects(b.docs, follows), b.reads, b.charts}, nil // [Build] says why it cannot be built
}
