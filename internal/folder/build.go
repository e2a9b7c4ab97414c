package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// built is a folder that is built by its kustomization.
type built struct {
	inputs.Root
	top   string // on disk: the folder that its names are relative to
	show  func(name string) string
	parts []file // that the build read
}

// findRoots finds what is built in the folders that are named, and adds it to the files.
func (w *walk) findRoots(ctx context.Context, mode inputs.Mode) error {
	w.builds = mode != inputs.Plain && mode != ""
	if !w.builds {
		return nil
	}
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
		opened, err := os.OpenRoot(r.path)
		if err != nil {
			return fmt.Errorf("read %s: %s", r.path, reason(err))
		}
		defer opened.Close() // nothing was written
		search := inputs.Search{Files: opened.FS().(tree.Files), Paths: named[r], Mode: mode, Skip: func(folder string) bool {
			return w.skip(filepath.ToSlash(w.show(r, folder)))
		}}
		if r.layout, err = search.Find(ctx); err != nil {
			return fmt.Errorf("look for kustomizations in %s: %w", r.path, err)
		}
		show := func(name string) string { return filepath.ToSlash(w.show(r, name)) }
		for _, one := range r.layout.Roots {
			name := filepath.Join(r.path, filepath.FromSlash(one.Name))
			w.files = append(w.files, file{name: show(one.Name), path: name, root: &built{Root: one, top: r.path, show: show}})
		}
	}
	return nil
}

// show returns the name of a file below a root as in reports: below the folder that was named, else from the current
// folder.
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

// build builds the folder.
func (b *built) build(ctx context.Context, opts Options) manifest.Result {
	open := func() (tree.Files, func(), error) {
		opened, err := os.OpenRoot(b.top)
		if err != nil {
			return nil, nil, err
		}
		return opened.FS().(tree.Files), func() { opened.Close() }, nil
	}
	files, done, err := open()
	if err != nil {
		return unreadable(b.show(b.Name), err)
	}
	defer done()
	out, err := inputs.Build(ctx, files, b.Root, inputs.Options{Manifest: opts.Manifest, Show: b.show, Open: open, Charts: opts.Charts})
	if err != nil {
		return unreadable(b.show(b.Name), err)
	}
	for name, what := range out.Reads {
		if strings.HasPrefix(what, "content ") && manifest.IsManifestPath(filepath.Base(name)) {
			b.parts = append(b.parts, file{name: b.show(name), path: filepath.Join(b.top, filepath.FromSlash(name))})
		}
	}
	return out.Result
}
