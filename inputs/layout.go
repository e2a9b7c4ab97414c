package inputs

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/argocd"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Mode decides what is built.
//
// +kubebuilder:validation:Enum=auto;plain;kustomize;flux;argocd
type Mode string

const (
	// Auto builds kustomizations, and reads all other files as plain manifests.
	Auto Mode = "auto"
	// Plain reads all files as plain manifests.
	Plain Mode = "plain"
	// Kustomize builds the paths, each of which must have a kustomization.
	Kustomize Mode = "kustomize"
	// Flux follows the Flux Kustomizations in the paths.
	Flux Mode = "flux"
	// ArgoCD follows the Applications and ApplicationSets in the paths.
	ArgoCD Mode = "argocd"
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{Auto, Plain, Kustomize, Flux, ArgoCD} }

// Layout has the roots, and the files that belong to kustomizations or charts. It is immutable.
type Layout struct {
	Roots        []Root                 // by name
	ChartFolders []string               // nothing in them is read
	covered      map[string]bool        // folders with a kustomization, charts, and files that kustomizations name
	reads        tree.Reads             // reads of the search itself
	refs         map[string]Refs        // by folder of the kustomization
	seen         map[string]rootObjects // by digest of the root
	tenants      manifest.Tenants
	state        State
}

// DefaultCharts returns the folders of charts that are paths themselves, so nothing gives them values.
func (l *Layout) DefaultCharts() (out []string) {
	for _, r := range l.All() {
		if of, ok := r.Make.(argocd.Chart); ok {
			out = append(out, of.Path)
		}
	}
	return out
}

// All returns the roots. A nil layout has none.
func (l *Layout) All() []Root {
	if l == nil {
		return nil
	}
	return l.Roots
}

// Root is a folder or chart that is built as a whole.
type Root = roots.Root

// Refs are the references of a kustomization, and what was read to find them.
type Refs struct {
	kustomize.Refs
	Reads tree.Reads
}

// Covers reports whether a file belongs to a kustomization or chart, so that it is not read as a plain manifest.
func (l *Layout) Covers(name string) bool {
	if l == nil || len(l.covered) == 0 {
		return false
	}
	for ; ; name = path.Dir(name) {
		if l.covered[name] {
			return true
		}
		if name == "." {
			return false
		}
	}
}

// Changed returns the folders and files that only one of the two layouts covers.
func (l *Layout) Changed(other *Layout) []string {
	var out []string
	for _, pair := range [][2]*Layout{{l, other}, {other, l}} {
		for name := range pair[0].names() {
			if pair[1] == nil || !pair[1].covered[name] {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (l *Layout) names() map[string]bool {
	if l == nil {
		return nil
	}
	return l.covered
}

// Search finds roots in the paths of a repository.
type Search struct {
	Files tree.Files
	Paths []string
	Mode  Mode
	// Skip, if not nil, reports whether to skip a folder.
	Skip func(folder string) bool
	// Cluster, if not empty, is the folder that describes the state of the cluster: see [State]. Given are other paths
	// whose ConfigMaps and Secrets custom resources may refer to; they are in mounted repositories.
	Cluster string
	Given   []string
	// Plugins says what is built in place of config management plugins of Argo CD, by their names.
	Plugins map[string]argocd.Plugin
	// Options say how to build roots whose custom resources are followed.
	Options roots.Options
	// Builds, if not nil, caches the results of these roots for [Build].
	Builds *Builds
	// Before, if not nil, is the layout of an earlier tree that differs in Changed. It makes the search faster.
	Before  *Layout
	Changed *tree.Changes
}

// Find finds the roots. As in Flux, a path with a kustomization is a root, and everything below belongs to it. In a
// path without a kustomization, each folder that has one is a root, except bases of others: they would be applied
// twice. Helm charts are not searched: their files are templates and values.
func (s Search) Find(ctx context.Context) (*Layout, error) {
	if s.Before != nil && s.Before.isSame(s) {
		return s.Before, nil
	}
	r := search{Search: s, tree: tree.ForSearch(ctx, s.Files),
		layout: &Layout{covered: map[string]bool{}, refs: map[string]Refs{}, seen: map[string]rootObjects{},
			tenants: s.Options.Tenants},
		named: map[string]bool{}, plain: map[string]bool{}, found: map[string]string{}, refused: map[string]Root{}}
	if err := r.readState(); err != nil {
		return nil, err
	}
	if err := r.find(ctx); err != nil {
		return nil, err
	}
	for i, root := range r.layout.Roots {
		r.layout.Roots[i] = r.layout.state.in(root)
	}
	r.layout.reads = r.tree.Reads()
	return r.layout, nil
}

// find finds the roots, when the state of the cluster is known.
func (s *search) find(ctx context.Context) error {
	if s.Mode != Flux && s.Mode != ArgoCD {
		return s.search(ctx)
	}
	if err := s.findGiven(ctx); err != nil {
		return err
	}
	return s.follow(ctx, s.walk())
}

// isSame reports whether a search would return the same layout.
func (l *Layout) isSame(s Search) bool {
	if !l.tenants.Equal(s.Options.Tenants) || !l.reads.Same(s.Files, s.Changed) {
		return false
	}
	for _, r := range l.refs {
		if !r.Reads.Same(s.Files, s.Changed) {
			return false
		}
	}
	for _, r := range l.seen {
		if !r.isCurrent(s) {
			return false
		}
	}
	return true
}

// IsSettled reports whether the layout depends on files only: see [tree.Reads.IsSettled].
func (l *Layout) IsSettled() bool {
	if l == nil {
		return true
	}
	for _, r := range l.seen {
		if !r.reads.IsSettled() {
			return false
		}
	}
	return l.reads.IsSettled()
}

// Charts returns the charts that the search has fetched.
func (l *Layout) Charts() chart.Uses {
	out := chart.Uses{}
	if l != nil {
		for _, r := range l.seen {
			maps.Copy(out, r.charts)
		}
	}
	return out
}

// search is a [Search] in progress.
type search struct {
	Search
	tree    *tree.Tree
	layout  *Layout
	named   map[string]bool   // folders that are paths of the search
	plain   map[string]bool   // paths without a kustomization
	found   map[string]string // kustomization files, by folder
	refused map[string]Root   // tenants' custom resources that are not followed, by name
	given   []roots.Object    // ConfigMaps and Secrets that custom resources may refer to
}

// search looks for kustomizations in the paths.
func (s *search) search(ctx context.Context) error {
	for _, p := range s.Paths {
		if err := s.path(path.Clean(p)); err != nil {
			return err
		}
	}
	return s.chooseRoots(ctx)
}

// path searches one of the paths.
func (s *search) path(name string) error {
	real, isDir, err := s.tree.Resolve(name)
	if err != nil || !isDir || real != name || s.Skip != nil && s.Skip(name) {
		return ignoreMissing(err) // it is read as a file, or reported as missing or as a link
	}
	if s.Mode == Kustomize {
		s.named[name], s.found[name] = true, path.Join(name, "kustomization.yaml")
	}
	return s.folder(name, true)
}

// folder searches a folder and those below it.
func (s *search) folder(dir string, isNamed bool) error {
	if s.layout.covered[dir] && !isNamed {
		return nil // the state of the cluster
	}
	name, err := s.kustomization(dir)
	if err != nil {
		return ignoreMissing(err)
	}
	if name != "" {
		s.found[dir], s.named[dir] = name, isNamed || s.named[dir]
		return nil
	}
	if s.named[dir] {
		return nil
	}
	entries, err := s.tree.List(dir)
	if err != nil {
		return ignoreMissing(err)
	}
	if slices.Contains(entries, tree.Entry{Name: chart.FileName}) {
		s.layout.ChartFolders = append(s.layout.ChartFolders, dir)
		s.layout.covered[dir] = true
		return nil
	}
	for _, e := range entries {
		below := path.Join(dir, e.Name)
		if !e.IsDir || strings.HasPrefix(e.Name, ".") || s.Skip != nil && s.Skip(below) {
			continue
		}
		if err := s.folder(below, false); err != nil {
			return err
		}
	}
	return nil
}

// kustomization returns the kustomization file of a folder, or "" if none is built there.
func (s *search) kustomization(dir string) (string, error) {
	if s.Mode == Plain || s.Mode == "" {
		return "", nil
	}
	name, err := kustomize.Find(s.tree, dir)
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return failed.File, nil // Build reports the error
	}
	return name, err
}

// ignoreMissing drops errors about files that do not exist or cannot be read: they are reported when they are read.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, tree.ErrOutside) {
		return nil
	}
	return err
}

// chooseRoots chooses the roots among the kustomizations: those that are paths, those that no other one refers to, and
// the first of each circle of references.
func (s *search) chooseRoots(ctx context.Context) error {
	folders := slices.Sorted(maps.Keys(s.found))
	isBase := map[string]bool{}
	for _, dir := range folders {
		s.layout.covered[dir] = true
		r, err := s.refsOf(ctx, dir)
		if err != nil {
			return err
		}
		for base := range r.Folders {
			isBase[base] = isBase[base] || base != dir && r.Covered[base]
		}
		maps.Copy(s.layout.covered, r.Covered)
	}
	reached := map[string]bool{}
	add := func(dir string) {
		s.layout.Roots = append(s.layout.Roots, Root{Folder: dir, Name: s.found[dir]})
		for base := range s.layout.refs[dir].Folders {
			reached[base] = true
		}
	}
	isPart := func(dir string) bool { return s.layout.refs[dir].IsComponent && !s.named[dir] }
	for _, dir := range folders {
		if s.named[dir] || !isBase[dir] && !isPart(dir) {
			add(dir)
		}
	}
	for _, dir := range folders {
		if !s.named[dir] && isBase[dir] && !reached[dir] && !isPart(dir) {
			add(dir)
		}
	}
	slices.SortFunc(s.layout.Roots, func(a, b Root) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// refsOf returns the references of a kustomization, as far as it can be read.
func (s *search) refsOf(ctx context.Context, dir string) (Refs, error) {
	if s.Before != nil && s.Before.tenants.Equal(s.Options.Tenants) {
		if r, found := s.Before.refs[dir]; found && r.Reads.Same(s.Files, s.Changed) {
			s.layout.refs[dir] = r
			return r, nil
		}
	}
	t := tree.New(ctx, s.Files)
	found, err := kustomize.Inspect(t, dir, s.Options.Tenants, s.Options.Repositories)
	r := Refs{found, t.Reads()}
	s.layout.refs[dir] = r
	return r, err
}
