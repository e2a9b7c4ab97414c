package inputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/argocd"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/internal/flux"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/panics"
)

// walk says how a mode follows custom resources to roots.
type walk struct {
	follow  roots.Walk
	follows func(apiVersion, kind string) bool // reports whether follow needs objects of a kind
	paths   func(ctx context.Context, name string) ([]Root, error)
}

// walk returns the walk of a mode that follows custom resources.
func (s *search) walk() walk {
	if s.Mode == Flux {
		w := flux.Walker{Repositories: s.Options.Repositories, Decrypt: s.decrypt, State: s.given}
		return walk{w.Walk, flux.Follows, s.pathRoot}
	}
	w := argocd.Walker{Repositories: s.Options.Repositories, State: s.given, Plugins: s.Plugins}
	if s.Options.Charts != nil {
		w.Cluster = s.Options.Charts.Cluster.Name
	}
	return walk{w.Walk, argocd.Follows, s.entries}
}

// decrypt decrypts a file. If that fails, the result of the search is not reused.
func (s *search) decrypt(ctx context.Context, f sops.File) (sops.Decrypted, error) {
	o, err := s.Options.Secrets.Decrypt(ctx, f)
	if o.Reason != "" {
		s.tree.Unsettle()
	}
	return o, err
}

// rootObjects are the objects of a root that a walk needs, and what they depend on.
type rootObjects struct {
	objects []roots.Object
	reads   tree.Reads
	charts  chart.Uses
}

// isCurrent reports whether a new search would find the same objects.
func (f rootObjects) isCurrent(s Search) bool {
	return f.reads.Same(s.Files, s.Changed) && s.Options.Charts.IsCurrent(f.charts)
}

// findGiven finds the ConfigMaps and Secrets that custom resources may refer to: those of the cluster's state, and
// those that the paths of other repositories give.
func (s *search) findGiven(ctx context.Context) error {
	s.given = s.layout.state.objects
	var wanted []Root
	for _, name := range s.Given {
		found, err := s.pathRoot(ctx, path.Clean(name))
		if err != nil {
			return err
		}
		wanted = append(wanted, found...)
	}
	built, err := s.build(ctx, wanted, func(apiVersion, kind string) bool {
		return apiVersion == "v1" && (kind == "ConfigMap" || kind == "Secret")
	})
	for _, objects := range built {
		s.given = append(slices.Clip(s.given), objects...)
	}
	return err
}

// follow starts at the paths and finds the roots that custom resources ask for.
func (s *search) follow(ctx context.Context, w walk) error {
	var paths []Root
	for _, p := range s.Paths {
		found, err := w.paths(ctx, path.Clean(p))
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	found, err := w.follow(ctx, paths, func(wanted ...Root) ([][]roots.Object, error) {
		return s.build(ctx, wanted, w.follows)
	})
	if err == nil && s.Mode == ArgoCD {
		err = s.noteUnread(ctx, found)
	}
	s.refuseRepositories(found)
	s.layout.Roots = append(found, slices.SortedFunc(maps.Values(s.refused), func(a, b Root) int {
		return strings.Compare(a.Name, b.Name)
	})...)
	return err
}

// noteUnread warns of paths that lead to nothing: they have objects of kinds that agentry reads, but neither an
// Application nor a kustomization of their own, and no Application reads them.
func (s *search) noteUnread(ctx context.Context, found []Root) error {
	for i, r := range found {
		e, isEntries := r.Make.(argocd.Entries)
		if !isEntries || r.Problem != nil || slices.ContainsFunc(found, func(o Root) bool {
			seen := s.layout.seen[o.Digest()]
			return o.RequestedBy != nil && seen.reads.Below(e.Path) ||
				(o.Name == e.Path || strings.HasPrefix(o.Name, e.Path+"/")) && len(seen.objects) > 0
		}) {
			continue
		}
		_, isDir, err := s.tree.Resolve(e.Path)
		if err != nil {
			continue // it is reported elsewhere
		}
		all := Root{Name: e.Path, Folder: e.Path, Generate: &kustomize.Generate{}}
		if !isDir {
			all.Folder, all.Generate.File = path.Dir(e.Path), path.Base(e.Path)
		}
		built, err := s.build(ctx, []Root{all}, func(_, kind string) bool {
			return slices.Contains(manifest.Kinds(), kind)
		})
		if err != nil {
			return err
		}
		if n := len(built[0]); n > 0 {
			d := diag.BuildsNothing.At("", "its objects are not read, as no Application leads to them: %d of kinds "+
				"that agentry reads", n).WithHint("add a kustomization.yaml to it, or an Application that names it")
			d.File = e.Path
			found[i].Problem = &d
		}
	}
	return nil
}

// pathRoot returns the root of a path: what Flux would apply if a Kustomization named the path. A path that holds no
// manifest has none.
func (s *search) pathRoot(ctx context.Context, name string) ([]Root, error) {
	isDir, found, err := s.isThere(name)
	if err == nil && found {
		found, err = s.holdsManifest(ctx, name, isDir)
	}
	if err != nil || !found {
		return nil, err
	}
	if !isDir {
		return []Root{{Name: name, Folder: path.Dir(name), Generate: &kustomize.Generate{File: path.Base(name)}}}, nil
	}
	file, err := s.kustomization(name)
	if file == "" {
		file = name // kustomize builds the folder without one
		s.plain[name] = true
	}
	return []Root{{Name: file, Folder: name, Generate: &kustomize.Generate{}}}, ignoreMissing(err)
}

// isThere reports whether a path exists and is neither a link nor skipped; missing paths and links are reported
// elsewhere.
func (s *search) isThere(name string) (isDir, found bool, err error) {
	real, isDir, err := s.tree.Resolve(name)
	if err != nil || real != name || s.Skip != nil && s.Skip(name) {
		return false, false, ignoreMissing(err)
	}
	s.layout.covered[name] = true
	return isDir, true, nil
}

// holdsManifest reports whether a path of the pipeline holds a manifest or a kustomization. Whatever cannot be read
// counts as one: it is reported when it is built.
func (s *search) holdsManifest(ctx context.Context, name string, isDir bool) (bool, error) {
	if isDir {
		return s.holdsManifestBelow(ctx, name)
	}
	text, err := s.tree.ReadFile(name)
	if err != nil {
		return true, context.Cause(ctx)
	}
	r := manifest.Parse(manifest.File{Path: name, Data: text}, manifest.Options{})
	return !r.IsEmpty(), nil
}

// holdsManifestBelow is holdsManifest for a folder.
func (s *search) holdsManifestBelow(ctx context.Context, dir string) (bool, error) {
	if file, err := s.kustomization(dir); file != "" || err != nil {
		return true, context.Cause(ctx)
	}
	entries, err := s.tree.List(dir)
	if err != nil {
		return true, context.Cause(ctx)
	}
	if slices.Contains(entries, tree.Entry{Name: chart.FileName}) {
		return false, nil
	}
	for _, e := range entries {
		name, found := path.Join(dir, e.Name), false
		switch {
		case !manifest.IsManifestPath(e.Name) && !e.IsDir || strings.HasPrefix(e.Name, "."):
		case e.IsDir:
			found, err = s.holdsManifestBelow(ctx, name)
		case s.Mode == ArgoCD || path.Ext(name) != ".json": // Flux generates no kustomization with it
			found, err = s.isManifest(ctx, name)
		}
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// isManifest reports whether a file contains an object, or may contain one because it cannot be read.
func (s *search) isManifest(ctx context.Context, name string) (bool, error) {
	text, err := s.tree.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a link to nothing
		return false, nil
	case err != nil:
		return true, context.Cause(ctx)
	}
	return kustomize.IsManifest(text), nil
}

// isChart reports whether a folder is a Helm chart.
func (s *search) isChart(dir string) (bool, error) {
	entries, err := s.tree.List(dir)
	return slices.Contains(entries, tree.Entry{Name: chart.FileName}), ignoreMissing(err)
}

// entries returns the roots of a path in which to look for Applications. A kustomization or chart that is itself a
// path of the pipeline is built completely, since somebody applies it. From plain files, and from kustomizations below
// the path, only custom resources of Argo CD are taken.
func (s *search) entries(ctx context.Context, name string) ([]Root, error) {
	isDir, found, err := s.isThere(name)
	if err != nil || !found {
		return nil, err
	}
	file, isChart := "", false
	if isDir {
		if file, err = s.kustomization(name); err == nil && file == "" {
			isChart, err = s.isChart(name)
		}
	}
	switch {
	case err != nil || file != "":
		return []Root{{Name: file, Folder: name}}, ignoreMissing(err)
	case isChart:
		return []Root{{Name: path.Join(name, chart.FileName), Make: argocd.Chart{Path: name}}}, nil
	}
	if found, err = s.holdsManifest(ctx, name, isDir); err != nil {
		return nil, err
	}
	var out []Root
	if found {
		out = append(out, Root{Name: name, Make: argocd.Entries{Path: name}})
	}
	if !isDir {
		return out, nil
	}
	below := &search{Search: s.Search, tree: s.tree,
		layout: &Layout{covered: s.layout.covered, refs: s.layout.refs}, named: map[string]bool{},
		found: map[string]string{}}
	if err := errors.Join(below.folder(name, true), below.chooseRoots(ctx)); err != nil {
		return nil, err
	}
	s.layout.ChartFolders = append(s.layout.ChartFolders, below.layout.ChartFolders...)
	for _, r := range below.layout.Roots {
		out = append(out, Root{Name: r.Name, Make: argocd.FollowedKinds{Root: r}})
	}
	return out, nil
}

// build builds roots in parallel and returns the objects that the walk needs. It reuses objects of the layout before.
func (s *search) build(ctx context.Context, wanted []Root,
	follows func(apiVersion, kind string) bool) ([][]roots.Object, error) {
	found := make([]rootObjects, len(wanted))
	errs := make([]error, len(wanted))
	var fresh []int
	wanted = slices.Clone(wanted)
	for i, r := range wanted {
		wanted[i] = s.layout.state.in(r)
	}
	for i, r := range wanted { // sequential: known reads the shared files
		known := false
		if found[i], known = s.known(r); !known {
			fresh = append(fresh, i)
		}
	}
	panics.Each(len(fresh), func(k int) { i := fresh[k]; found[i], errs[i] = s.buildObjects(ctx, wanted[i], follows) })
	out := make([][]roots.Object, len(wanted))
	for i, r := range wanted {
		s.layout.seen[r.Digest()] = found[i]
		out[i] = s.allowed(withAuthors(r, found[i].objects))
	}
	return out, errors.Join(errs...)
}

// withAuthors adds the root's authors to each of its objects.
func withAuthors(r Root, objects []roots.Object) []roots.Object {
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

// allowed drops objects that tenancy forbids following, such as a tenant's object in somebody else's namespace: it
// must not replace theirs.
func (s *search) allowed(objects []roots.Object) []roots.Object {
	if !s.Options.Tenants.IsSet() {
		return objects
	}
	var out []roots.Object
	for _, o := range objects {
		tenant, message, hint := s.Options.Tenants.Breach(manifest.ID{Kind: o.Kind, Namespace: o.Namespace,
			Name: o.Name}, o.Authors)
		isCluster := s.Mode == ArgoCD && o.Kind == "Secret" && tenant != ""
		if o.Tenant = tenant; message == "" && !isCluster {
			out = append(out, o)
		}
		if message != "" && o.APIVersion != "v1" { // objects of v1 are refused when they are parsed
			by := &roots.CustomResource{Object: o.Object, Built: o.Built}
			name := by.Name() + " of tenant " + tenant // unique among roots
			s.refused[name] = Root{Name: name, RequestedBy: by,
				Problem: new(diag.Tenancy.At("metadata.namespace", "%s", message).WithHint(hint))}
		}
	}
	return out
}

// known returns the objects of a root in the layout before, if they are still current.
func (s *search) known(r Root) (rootObjects, bool) {
	if s.Before == nil || !s.Before.tenants.Equal(s.Options.Tenants) {
		return rootObjects{}, false
	}
	before, found := s.Before.seen[r.Digest()]
	return before, found && before.isCurrent(s.Search)
}

func (s *search) buildObjects(ctx context.Context, r Root,
	follows func(apiVersion, kind string) bool) (rootObjects, error) {
	files, done, err := s.Options.Open()
	if err != nil {
		return rootObjects{}, err
	}
	defer done()
	b, err := s.Builds.build(ctx, files, r, s.Options)
	if err != nil {
		return rootObjects{}, fmt.Errorf("build %s: %w", r.Name, err)
	}
	// Build reports why a root cannot be built.
	return rootObjects{roots.Objects(b.docs, follows), b.reads, b.charts}, nil
}
