package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/panics"
)

// root is the additional state of a built file.
type root struct {
	inputs.Root
	reads  tree.Reads
	charts chart.Uses
	at     trees // the last trees from which the same was read
}

// bytesPerRead is the measured memory of each read of a build.
const bytesPerRead = 150

// maxRounds limits how often a build is repeated after fetching a chart that it needs.
const maxRounds = 50

// findLayouts finds the roots of both trees, starting from the layout of the tree that was read last.
func (d *treeDiff) findLayouts() (err error) {
	if d.anywhere, err = d.differing(d.from, d.to); err != nil {
		return err
	}
	switch isBase := d.before != d.Charts; {
	case d.Input.at.same(d.from) && !isBase:
		d.oldLayout = d.Input.layout
		d.newLayout, err = d.layout(d.to, d.oldLayout, d.anywhere, d.Charts, d.newBuilds)
	case d.Input.at.same(d.to):
		d.newLayout = d.Input.layout
		d.oldLayout, err = d.layout(d.from, d.newLayout, d.anywhere, d.before, d.oldBuilds)
	default:
		if d.oldLayout, err = d.layout(d.from, nil, nil, d.before, d.oldBuilds); err == nil {
			d.newLayout, err = d.layout(d.to, d.oldLayout, d.anywhere, d.Charts, d.newBuilds)
		}
	}
	return err
}

// repositories are the source and those mounted in it.
func (d *treeDiff) repositories() roots.Repositories {
	out := roots.Repositories{URL: d.Source.URL, Output: roots.Output{URL: d.Output.URL, Branches: d.Output.Branches()},
		Folders: d.References, Revisions: map[string]roots.Revision{}}
	add := func(folder string, of *Source) {
		if of.Ref.Branch != "HEAD" { // a folder that somebody chose, whatever its revision is
			out.Revisions[folder] = of.revision()
		}
	}
	add(".", d.Source)
	for folder, of := range d.Mounts {
		add(folder, of)
	}
	return out
}

// revision returns the revision that is read of a source.
func (s *Source) revision() roots.Revision {
	ref := s.Ref
	names := []string{ref.Commit, ref.Name, ref.SemVer, ref.Tag, "refs/tags/" + ref.Tag}
	if ref.Branch != "" {
		names = append(names, ref.Branch, "refs/heads/"+ref.Branch)
	}
	out := roots.Revision{Text: ref.RepoRef().String(), Names: names}
	if !s.head.IsZero() {
		out.Commit, out.Tags = s.head.String(), s.tags
	}
	return out
}

// layout finds the roots of a tree. It is faster with the layout of another tree and the changes since.
func (d *treeDiff) layout(at trees, before *inputs.Layout, changed *tree.Changes, charts *chart.Renderer,
	builds *inputs.Builds) (*inputs.Layout, error) {
	if at.own.IsZero() {
		return nil, nil
	}
	files, done, err := d.open(at)()
	if err != nil {
		return nil, err
	}
	defer done()
	search := inputs.Search{Files: files, Paths: distinct(d.Paths), Mode: d.Build, Before: before,
		Changed: changed,
		Builds:  builds,
		Cluster: d.BuildSpec.Cluster, Given: d.Given, Plugins: d.BuildSpec.Plugins,
		Options: roots.Options{Open: d.open(at), Kustomize: d.Kustomize, Charts: charts,
			Repositories: d.repositories(), PassThrough: d.opts.PassThrough, Tenants: d.opts.Tenants,
			Secrets: d.Secrets}}
	for range maxRounds {
		found, err := search.Find(d.pass.Context())
		if err != nil {
			return nil, fmt.Errorf("look for kustomizations: %w", err)
		}
		search.Before, search.Changed = found, nil
		if again, err := charts.Prepare(d.pass.Context(), found.Charts()); !again || err != nil {
			return found, err
		}
	}
	return search.Before, nil
}

// rebuild builds the roots whose inputs changed, and returns the names of removed roots.
func (d *treeDiff) rebuild(opts manifest.Options) (fresh []*File, gone []string, err error) {
	files, done, err := d.open(d.to)()
	if err != nil {
		return nil, nil, err
	}
	defer done()
	wanted := map[string]bool{}
	for _, r := range d.newLayout.All() {
		wanted[r.Name] = true
		if f := d.Input.Files[r.Name]; f != nil && f.root != nil && f.root.Same(r) &&
			f.root.reads.Same(files, d.anywhere) && d.Charts.IsCurrent(f.root.charts) {
			f.root.at = d.to
			continue
		}
		fresh = append(fresh, newRoot(r, d.to))
	}
	for name, f := range d.Input.Files {
		if f.root != nil && !wanted[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return fresh, gone, d.build(fresh, d.Charts, d.newBuilds, opts)
}

// newRoot returns an unbuilt root.
func newRoot(r inputs.Root, at trees) *File {
	return &File{Path: r.Name, root: &root{Root: r, at: at}}
}

// rebuild builds the roots that differ at the base.
func (b *Base) rebuild(d *treeDiff, opts manifest.Options, old *Base) error {
	var fresh []*File
	files, done, err := d.open(b.at)()
	if err != nil {
		return err
	}
	defer done()
	same := map[string]*File{}
	for _, r := range d.oldLayout.All() {
		isCurrent := func(f *File) bool {
			return f != nil && f.root != nil && f.isSettled() && d.before.IsCurrent(f.root.charts)
		}
		if f := d.Input.Files[r.Name]; isCurrent(f) && f.root.Same(r) && f.root.reads.Same(files, d.anywhere) {
			same[r.Name] = f
			continue
		}
		f := newRoot(r, b.at)
		if old != nil && old.at.same(b.at) && isCurrent(old.Files[r.Name]) && old.Files[r.Name].root.Same(r) {
			f = old.Files[r.Name]
		} else {
			fresh = append(fresh, f)
		}
		b.Files[r.Name], b.Differs[r.Name] = f, true
	}
	for _, r := range d.newLayout.All() {
		if same[r.Name] == nil {
			b.Differs[r.Name] = true
		}
	}
	if err := d.build(fresh, d.before, d.oldBuilds, opts); err != nil {
		return err
	}
	uses := d.oldLayout.Charts()
	for _, files := range []map[string]*File{same, b.Files} {
		for _, f := range files {
			f.addCharts(uses)
		}
	}
	b.Incomplete = b.Incomplete || d.before.Lacks(uses)
	return nil
}

// rootAt builds the root with a name at an older commit, or returns nil if there is no such root.
func rootAt(s *Source, pass *budget.Pass, at trees, name string, opts manifest.Options) (*File, error) {
	d := &treeDiff{Source: s, pass: pass, before: s.Charts.Rendered(), opts: opts, oldBuilds: newBuilds(pass)}
	changed, err := d.differing(s.Input.at, at)
	if err != nil {
		return nil, err
	}
	found, err := d.layout(at, s.Input.layout, changed, d.before, d.oldBuilds)
	if err != nil {
		return nil, err
	}
	for _, r := range found.All() {
		if r.Name == name {
			f := newRoot(r, at)
			return f, d.build([]*File{f}, d.before, d.oldBuilds, opts)
		}
	}
	return nil, nil
}

// build builds roots. It fetches the charts that they need and then builds these roots again.
func (d *treeDiff) build(files []*File, charts *chart.Renderer, builds *inputs.Builds, opts manifest.Options) error {
	for range maxRounds {
		if len(files) == 0 {
			break
		}
		if err := d.buildAll(files, charts, builds, opts); err != nil {
			return err
		}
		uses := chart.Uses{}
		for _, f := range files {
			f.addCharts(uses)
		}
		if _, err := charts.Prepare(d.pass.Context(), uses); err != nil {
			return err
		}
		files = slices.DeleteFunc(slices.Clone(files), func(f *File) bool { return charts.IsCurrent(f.root.charts) })
	}
	return nil
}

// isSettled reports whether reading the same trees again would give the same roots with the same objects.
func (in *Input) isSettled() bool {
	for _, r := range in.layout.All() {
		if f := in.Files[r.Name]; f != nil && !f.isSettled() {
			return false
		}
	}
	return in.layout.IsSettled()
}

func (f *File) isSettled() bool { return f.root == nil || f.root.reads.IsSettled() }

// addCharts adds the charts that a file was built from.
func (f *File) addCharts(uses chart.Uses) {
	if f.root != nil {
		maps.Copy(uses, f.root.charts)
	}
}

// charts returns the charts used to find and build the roots.
func (in *Input) charts() chart.Uses {
	uses := in.layout.Charts()
	for _, r := range in.layout.All() {
		if f := in.Files[r.Name]; f != nil {
			f.addCharts(uses)
		}
	}
	return uses
}

// buildAll builds roots on all processors. Each has its own Reader.
func (d *treeDiff) buildAll(roots []*File, charts *chart.Renderer, builds *inputs.Builds, opts manifest.Options) error {
	ctx, cancel := context.WithCancel(d.pass.Context())
	defer cancel()
	var once sync.Once
	var failed error // the first error; those of the builds that it ends follow
	panics.Each(len(roots), func(i int) {
		if ctx.Err() != nil {
			return
		}
		if err := d.buildOne(ctx, roots[i], charts, builds, opts); err != nil {
			once.Do(func() { failed = err })
			cancel()
		}
	})
	if failed != nil {
		return failed
	}
	return context.Cause(d.pass.Context())
}

// newBuilds returns the store of the builds of a search, charged to the pass.
func newBuilds(pass *budget.Pass) *inputs.Builds {
	return &inputs.Builds{Take: pass.Take}
}

func (d *treeDiff) buildOne(ctx context.Context, f *File, charts *chart.Renderer, builds *inputs.Builds,
	opts manifest.Options) error {
	files, closed, err := d.open(f.root.at)()
	if err != nil {
		return err
	}
	defer closed()
	open := func() (tree.Files, func(), error) { return d.open(f.root.at)() } // root.at may change before the call
	built, err := inputs.Build(ctx, files, f.root.Root, inputs.Options{
		Manifest: opts, Source: d.Label, Builds: builds, Work: d.pass.Work,
		Options: roots.Options{Open: open, Kustomize: d.Kustomize, Charts: charts, Repositories: d.repositories(),
			PassThrough: opts.PassThrough, Tenants: opts.Tenants, Secrets: d.Secrets}})
	if err != nil {
		return fmt.Errorf("build %s: %w", f.Path, err)
	}
	f.Result, f.bytes, f.root.reads, f.root.charts = built.Result, built.Bytes, built.Reads, built.Charts
	copy(f.Blob[:], built.Digest())
	return d.pass.Take(f.size() - built.Taken)
}
