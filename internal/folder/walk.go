package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// walk finds files. Names are what reports call things, paths are real: without links.
type walk struct {
	skip   func(folder string) bool
	files  []file
	result manifest.Result // what concerns no file
	seen   map[string]bool // files and folders, by path
}

func newWalk(skip func(string) bool) *walk {
	if skip == nil {
		skip = func(string) bool { return false }
	}
	return &walk{skip: skip, seen: map[string]bool{}}
}

// add finds the files of a path that was named.
func (w *walk) add(ctx context.Context, name string) error {
	if name == stdin {
		if !w.seen[stdin] {
			w.seen[stdin] = true
			w.files = append(w.files, file{name: stdin})
		}
		return nil
	}
	path, err := realPath(name)
	if err != nil {
		return fmt.Errorf("read %s: %s", name, reason(err))
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read %s: %s", name, reason(err))
	}
	name = filepath.Clean(name)
	if !info.IsDir() {
		w.file(name, path)
		return nil
	}
	return w.tree(ctx, name, path)
}

// tree finds the files of a folder that was named. Links come last, so that a file goes by
// its own name where it has one.
func (w *walk) tree(ctx context.Context, name, path string) error {
	links := w.folder(ctx, name, path)
	for len(links) > 0 && ctx.Err() == nil {
		link := links[0]
		links = append(links[1:], w.follow(ctx, link, path)...)
	}
	return ctx.Err()
}

// folder finds the files of a folder, and returns the links that it did not follow.
func (w *walk) folder(ctx context.Context, name, path string) (links []file) {
	if w.seen[path] || ctx.Err() != nil || w.skip(filepath.ToSlash(name)) {
		return nil
	}
	w.seen[path] = true
	entries, err := os.ReadDir(path)
	if err != nil {
		w.merge(unreadable(filepath.ToSlash(name), err))
		return nil
	}
	for _, entry := range entries {
		inner := file{filepath.Join(name, entry.Name()), filepath.Join(path, entry.Name())}
		switch {
		case strings.HasPrefix(entry.Name(), "."):
		case entry.Type()&fs.ModeSymlink != 0:
			links = append(links, inner)
		case entry.IsDir():
			links = append(links, w.folder(ctx, inner.name, inner.path)...)
		case entry.Type().IsRegular() && manifest.IsManifestPath(entry.Name()):
			w.file(inner.name, inner.path)
		}
	}
	w.kustomization(name, entries)
	return links
}

// follow finds what a link below the root leads to.
func (w *walk) follow(ctx context.Context, link file, root string) (links []file) {
	manifests := manifest.IsManifestPath(filepath.Base(link.name))
	path, err := realPath(link.path)
	if err != nil {
		if !manifests && filepath.Ext(link.name) != "" {
			return nil // would have been a file of another kind
		}
		w.refuse(link, "is a symbolic link that leads nowhere: "+reason(err))
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		w.merge(unreadable(filepath.ToSlash(link.name), err))
	case !info.IsDir() && !(manifests && info.Mode().IsRegular()):
	case !within(root, path):
		w.refuse(link, "is a symbolic link that leads out of the folder, and is not followed")
	case info.IsDir():
		return w.folder(ctx, link.name, path)
	default:
		w.file(link.name, path)
	}
	return nil
}

// file takes a file, once.
func (w *walk) file(name, path string) {
	if !w.seen[path] {
		w.seen[path] = true
		w.files = append(w.files, file{filepath.ToSlash(name), path})
	}
}

// kustomization warns of a folder that means something else to kustomize.
func (w *walk) kustomization(name string, entries []os.DirEntry) {
	i := slices.IndexFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == "kustomization.yaml" || e.Name() == "kustomization.yml" || e.Name() == "Kustomization"
	})
	if i < 0 {
		return
	}
	w.result.Diags = append(w.result.Diags, diag.Diagnostic{
		Severity: diag.Warning, Code: diag.PlainManifests, File: filepath.ToSlash(filepath.Join(name, entries[i].Name())),
		Message: "the folder's files are read as plain manifests: kustomizations are not built",
		Hint:    "build it first and read the result, if patches or generators matter",
	})
}

// refuse reports a link. Whatever its name is, it could stand for a folder of manifests.
func (w *walk) refuse(link file, message string) {
	w.merge(manifest.Result{Broken: 1, Diags: diag.List{{
		Severity: diag.Error, Code: diag.SymlinkRefused, File: filepath.ToSlash(link.name), Message: message,
		Hint: "put a copy in its place, or name the link's target as a path of its own",
	}}})
}

func (w *walk) merge(r manifest.Result) {
	w.result.Broken += r.Broken
	w.result.Diags = append(w.result.Diags, r.Diags...)
}

// realPath is the absolute path without links.
func realPath(name string) (string, error) {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// within reports whether a path is below a root, or the root.
func within(root, path string) bool {
	relative, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(relative)
}

// reason is an error without the path, which the report has already.
func reason(err error) string {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return err.Error()
}
