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
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Mode says what is built.
type Mode string

const (
	// Auto builds kustomizations, and reads files that belong to none as they are.
	Auto Mode = "auto"
	// Plain reads all files as they are.
	Plain Mode = "plain"
	// Kustomize builds the paths, each of which must have a kustomization.
	Kustomize Mode = "kustomize"
	// Flux follows the Kustomizations of Flux that the paths give.
	Flux Mode = "flux"
	// ArgoCD follows the Applications and ApplicationSets of Argo CD that the paths give.
	ArgoCD Mode = "argocd"
)

// Modes returns all modes.
func Modes() []string {
	return []string{string(Auto), string(Plain), string(Kustomize), string(Flux), string(ArgoCD)}
}

// IgnoredChart is the kind by which charts are counted among what is not read.
const IgnoredChart = "Helm chart"

// Layout says which folders are roots, and which files belong to kustomizations or charts. It is immutable.
type Layout struct {
	Roots        []Root              // by name
	ChartFolders []string            // of which nothing is read
	covered      map[string]bool     // folders with kustomizations, and files that kustomizations name
	reads        tree.Reads          // of the search for kustomizations
	refs         map[string]refs     // of kustomizations, by folder
	seen         map[string]followed // results of the roots that are followed, by digest
	tenants      manifest.Tenants    // of the search
}

// All returns the roots, of which a nil layout has none.
func (l *Layout) All() []Root {
	if l == nil {
		return nil
	}
	return l.Roots
}

// Files returns the files that a root is made of, as far as kustomizations name them.
func (l *Layout) Files(r Root) []string { return slices.Sorted(maps.Keys(l.refs[r.Folder].Files)) }

// Root is what is built.
type Root = roots.Root

// refs are what a kustomization refers to.
type refs struct {
	kustomize.Refs
	reads tree.Reads
}

// Covers reports whether a file belongs to a kustomization or a chart, and is not read as it is.
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

// Changed returns the folders and files that only one of two layouts covers, without those below others.
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

// Search says where roots are looked for.
type Search struct {
	Files tree.Files
	Paths []string
	Mode  Mode
	// Skip, if it is not nil, reports whether a folder is not searched.
	Skip func(folder string) bool
	// Options say how roots are built that are followed.
	Options roots.Options
	// Builds, if it is not nil, keeps the results of these roots for [Build].
	Builds *Builds
	// Repositories say where the repositories are that custom resources name.
	Repositories roots.Repositories
	// Before, if it is not nil, is the layout of other files, of which Changed differ. It makes the search faster.
	Before  *Layout
	Changed *tree.Changes
}

// Find finds the roots. As for Flux, a path with a kustomization is a root, and what lies below it belongs to it. In a
// path without one, each folder with one is a root, except a base of others: Flux would apply it twice. A folder with a
// Helm chart is not searched: its files are templates and values.
func (s Search) Find(ctx context.Context) (*Layout, error) {
	if s.Before != nil && s.Before.isSame(s) {
		return s.Before, nil
	}
	r := search{Search: s, ctx: ctx, tree: tree.ForSearch(ctx, s.Files),
		layout: &Layout{covered: map[string]bool{}, refs: map[string]refs{}, seen: map[string]followed{},
			tenants: s.Options.Tenants}, named: map[string]bool{}, plain: map[string]bool{}, found: map[string]string{},
		refused: map[string]Root{}}
	find := r.search
	if w := r.walk(); w.follow != nil {
		find = func() error { return r.follow(w) }
	}
	if err := find(); err != nil {
		return nil, err
	}
	r.layout.reads = r.tree.Reads()
	return r.layout, nil
}

// isSame reports whether a search would find the same again.
func (l *Layout) isSame(s Search) bool {
	if l.tenants != s.Options.Tenants || !l.reads.Same(s.Files, s.Changed) {
		return false
	}
	for _, r := range l.refs {
		if !r.reads.Same(s.Files, s.Changed) {
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

// IsSettled reports whether the search would find the same in the same files: see [tree.Reads.IsSettled].
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

// Charts are those that the search for roots fetches.
func (l *Layout) Charts() chart.Uses {
	out := chart.Uses{}
	if l != nil {
		for _, r := range l.seen {
			maps.Copy(out, r.charts)
		}
	}
	return out
}

// search is one run of a [Search].
type search struct {
	Search
	ctx    context.Context
	tree   *tree.Tree
	layout *Layout
	named  map[string]bool   // folders that are paths themselves
	plain  map[string]bool   // of these, folders without a kustomization
	found  map[string]string // folders with their kustomizations
	// refused are the custom resources of tenants that are not followed.
	refused map[string]Root
}

// search looks for kustomizations in the paths.
func (s *search) search() error {
	for _, p := range s.Paths {
		if err := s.path(path.Clean(p)); err != nil {
			return err
		}
	}
	return s.choose()
}

// path searches a path that is named.
func (s *search) path(name string) error {
	real, isDir, err := s.tree.Resolve(name)
	if err != nil || !isDir || real != name || s.Skip != nil && s.Skip(name) {
		return infrastructure(err) // it is read as a file, or reported as missing or as a link
	}
	if s.Mode == Kustomize {
		s.named[name], s.found[name] = true, path.Join(name, "kustomization.yaml")
	}
	return s.folder(name, true)
}

// folder searches a folder and those below it.
func (s *search) folder(dir string, isNamed bool) error {
	name, err := s.kustomization(dir)
	if err != nil {
		return infrastructure(err)
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
		return infrastructure(err)
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

// kustomization returns the kustomization of a folder, or "" if there is none that is built.
func (s *search) kustomization(dir string) (string, error) {
	if s.Mode == Plain || s.Mode == "" {
		return "", nil
	}
	name, err := kustomize.Find(s.tree, dir)
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return failed.File, nil // Build says what is wrong
	}
	return name, err
}

// infrastructure drops errors about what is not there, or is reported when it is read.
func infrastructure(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, tree.ErrOutside) {
		return nil
	}
	return err
}

// choose chooses the roots: the kustomizations that are named, those that no other one refers to, and the first of
// those that only refer to each other.
func (s *search) choose() error {
	folders := slices.Sorted(maps.Keys(s.found))
	stoodOn := map[string]bool{}
	for _, dir := range folders {
		s.layout.covered[dir] = true
		r, err := s.refsOf(dir)
		if err != nil {
			return err
		}
		for base := range r.Folders {
			stoodOn[base] = stoodOn[base] || base != dir && r.Covered[base]
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
		if s.named[dir] || !stoodOn[dir] && !isPart(dir) {
			add(dir)
		}
	}
	for _, dir := range folders {
		if !s.named[dir] && stoodOn[dir] && !reached[dir] && !isPart(dir) {
			add(dir)
		}
	}
	slices.SortFunc(s.layout.Roots, func(a, b Root) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// refsOf returns what a kustomization refers to, as far as it can be read.
func (s *search) refsOf(dir string) (refs, error) {
	if s.Before != nil && s.Before.tenants == s.Options.Tenants {
		if r, found := s.Before.refs[dir]; found && r.reads.Same(s.Files, s.Changed) {
			s.layout.refs[dir] = r
			return r, nil
		}
	}
	t := tree.New(s.ctx, s.Files)
	found, err := kustomize.Inspect(t, dir, s.Options.Tenants)
	r := refs{found, t.Reads()}
	s.layout.refs[dir] = r
	return r, err
}
