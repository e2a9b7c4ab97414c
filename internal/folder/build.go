package folder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// builtRoot is a root that is built.
type builtRoot struct {
	inputs.Root
	top   string // the folder on disk that names are relative to
	show  func(name string) string
	parts []file // the manifests that the build read

	builds *inputs.Builds    // the search's results
	mounts map[string]string // folders on disk, by mount point
}

// findRoots finds the roots in the given folders, and adds them to the files.
func (w *walk) findRoots(ctx context.Context, opts Options) error {
	mode := opts.Build
	w.builds = mode != inputs.Plain && mode != ""
	named := map[*root][]string{}
	var tops []*root
	for _, f := range w.named {
		at := w.locate(f, true)
		if named[at.root] == nil {
			tops = append(tops, at.root)
		}
		named[at.root] = append(named[at.root], at.in)
	}
	for _, r := range tops {
		others, mounts := mountAll(opts.Sources)
		open := openFolders(r.path, mounts)
		files, done, err := open()
		if err != nil {
			return fmt.Errorf("read %s: %s", r.path, reason(err))
		}
		defer done()
		builds := &inputs.Builds{}
		search := inputs.Search{Files: files, Paths: named[r], Mode: mode, Skip: func(folder string) bool {
			return w.skip(filepath.ToSlash(w.show(r, folder)))
		}, Options: roots.Options{Open: open, Charts: opts.Charts, PassThrough: opts.Manifest.PassThrough,
			Tenants: opts.Manifest.Tenants, Secrets: opts.Secrets}, Builds: builds,
			Repositories: roots.Repositories{URL: origin(r.path), Folders: others}}
		if r.layout, err = search.Find(ctx); err != nil {
			return fmt.Errorf("look for kustomizations in %s: %w", r.path, err)
		}
		show := func(name string) string {
			first, rest, _ := strings.Cut(name, "/")
			if other, found := mounts[first]; found {
				return filepath.ToSlash(filepath.Join(other, rest))
			}
			return filepath.ToSlash(w.show(r, name))
		}
		for _, folder := range r.layout.ChartFolders {
			w.charts = append(w.charts, show(folder))
		}
		for _, one := range r.layout.Roots {
			name := filepath.Join(r.path, filepath.FromSlash(one.Name))
			w.files = append(w.files, file{name: show(one.Name), path: name,
				root: &builtRoot{Root: one, top: r.path, mounts: mounts, show: show, builds: builds}})
		}
	}
	return nil
}

// show returns the name that reports show for a file below a root: relative to a given folder, else to the current
// one.
func (w *walk) show(r *root, name string) string {
	at := filepath.Join(r.path, filepath.FromSlash(name))
	for _, f := range w.named {
		if below, err := filepath.Rel(f.path, at); err == nil && filepath.IsLocal(below) {
			return filepath.Join(f.name, below)
		}
	}
	if here, err := realPath("."); err == nil {
		if below, err := filepath.Rel(here, at); err == nil {
			return below
		}
	}
	return at
}

// mountAll chooses a mount point for the folder of each other repository. by has the mount points by source, and
// folders the folders by mount point.
func mountAll(sources map[string]string) (by, folders map[string]string) {
	by, folders = map[string]string{}, map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(sources)) {
		at := fmt.Sprintf("@%d", i+1)
		by[name], folders[at] = at, sources[name]
	}
	return by, folders
}

// openFolders returns a function that opens a folder with others mounted in it.
func openFolders(top string, mounts map[string]string) kustomize.Open {
	return func() (files tree.Files, done func(), err error) {
		var all []*os.Root
		done = func() {
			for _, r := range all {
				r.Close() // nothing was written
			}
		}
		open := func(name string) tree.Files {
			r, failed := os.OpenRoot(name)
			if failed != nil {
				err = errors.Join(err, failed)
				return nil
			}
			all = append(all, r)
			return r.FS().(tree.Files)
		}
		own, others := open(top), map[string]tree.Files{}
		for at, name := range mounts {
			others[at] = open(name)
		}
		if err != nil {
			done()
			return nil, nil, err
		}
		return tree.Mount(own, others), done, nil
	}
}

// build builds the root.
func (b *builtRoot) build(ctx context.Context, opts Options) manifest.Result {
	open := openFolders(b.top, b.mounts)
	files, done, err := open()
	if err != nil {
		return unreadable(b.show(b.Name), err)
	}
	defer done()
	out, err := inputs.Build(ctx, files, b.Root,
		inputs.Options{Manifest: opts.Manifest, Show: b.show, Builds: b.builds,
			Options: roots.Options{Open: open, Charts: opts.Charts, PassThrough: opts.Manifest.PassThrough,
				Tenants: opts.Manifest.Tenants, Secrets: opts.Secrets}})
	if err != nil {
		return unreadable(b.show(b.Name), err)
	}
	for name, what := range out.Reads {
		if strings.HasPrefix(what, "content ") && manifest.IsManifestPath(filepath.Base(name)) {
			at := filepath.Join(b.top, filepath.FromSlash(name))
			if first, rest, _ := strings.Cut(name, "/"); b.mounts[first] != "" {
				at = filepath.Join(b.mounts[first], filepath.FromSlash(rest))
			}
			b.parts = append(b.parts, file{name: b.show(name), path: at})
		}
	}
	return out.Result
}
