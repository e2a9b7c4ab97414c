package folder

import (
	"cmp"
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

// walk finds files. Names are the names in reports; paths contain no links.
type walk struct {
	skip   func(folder string) bool
	files  []file
	result manifest.Result // problems of no file
	seen   map[string]bool // files and folders, by path
	hidden map[string]bool // files that .sourceignore files exclude, by path
	named  []file          // given folders
	roots  map[string]*root
	builds bool // build kustomizations
	charts []string
}

// newWalk returns a walk that knows all given folders, for outermost.
func newWalk(names []string, skip func(string) bool) *walk {
	if skip == nil {
		skip = func(string) bool { return false }
	}
	w := &walk{skip: skip, seen: map[string]bool{}, hidden: map[string]bool{}, roots: map[string]*root{}}
	for _, name := range names {
		path, err := realPath(name)
		if info, statErr := os.Stat(path); err == nil && statErr == nil && info.IsDir() {
			// add reports the problems of other paths
			w.named = append(w.named, file{name: filepath.Clean(name), path: path})
		}
	}
	return w
}

// add finds the files of a given path.
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
	at := w.locate(file{name: filepath.Clean(name), path: path}, info.IsDir())
	if !info.IsDir() {
		w.file(at)
		return nil
	}
	return w.tree(ctx, at)
}

// tree finds the files of a given folder. It follows links last, so that a file is found under its own name if
// possible.
func (w *walk) tree(ctx context.Context, top place) error {
	links := w.folder(ctx, top)
	for len(links) > 0 && ctx.Err() == nil {
		link := links[0]
		links = append(links[1:], w.follow(ctx, link, top.path)...)
	}
	return ctx.Err()
}

// folder finds the files of a folder and returns its links, which it does not follow. It also searches excluded
// folders, because a rule may include a file in them.
func (w *walk) folder(ctx context.Context, at place) (links []place) {
	if w.seen[at.path] || ctx.Err() != nil || w.skip(filepath.ToSlash(at.name)) || at.root.layout.Covers(at.in) {
		return nil
	}
	w.seen[at.path] = true
	w.ignoreFile(at)
	entries, err := os.ReadDir(at.path)
	if err != nil {
		if !at.hidesAll() {
			w.merge(unreadable(filepath.ToSlash(at.name), err))
		}
		return nil
	}
	for _, entry := range entries {
		inner := at.inner(entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), "."):
		case entry.Type()&fs.ModeSymlink != 0:
			links = append(links, inner)
		case entry.IsDir():
			links = append(links, w.folder(ctx, inner)...)
		case entry.Type().IsRegular() && manifest.IsManifestPath(entry.Name()):
			w.file(inner)
		}
	}
	w.kustomization(at, entries)
	return links
}

// follow finds the files that a link below the given folder leads to.
func (w *walk) follow(ctx context.Context, link place, top string) (links []place) {
	manifests := manifest.IsManifestPath(filepath.Base(link.name))
	path, err := realPath(link.path)
	if err != nil {
		if !manifests && filepath.Ext(link.name) != "" {
			return nil // it would not be a manifest
		}
		w.refuse(link, "is a symbolic link that leads nowhere: "+reason(err))
		return nil
	}
	info, err := os.Stat(path)
	target := place{file{name: link.name, path: path}, link.root, link.in}
	switch {
	case err != nil:
		w.merge(unreadable(filepath.ToSlash(link.name), err))
	case !info.IsDir() && !(manifests && info.Mode().IsRegular()):
	case !within(top, path):
		w.refuse(link, "is a symbolic link that leads out of the folder, and is not followed")
	case info.IsDir():
		return w.folder(ctx, target)
	default:
		w.file(target)
	}
	return nil
}

// nonEmpty returns the paths of the files with documents, and of the folders above them. results are the results of
// the files.
func (w *walk) nonEmpty(results []manifest.Result) map[string]bool {
	out := map[string]bool{}
	for i, f := range w.files {
		r := results[i]
		if len(r.Objects)+len(r.LeftOut)+len(r.Ignored)+r.Broken == 0 {
			continue
		}
		for p := cmp.Or(f.path, f.name); !out[p]; p = filepath.Dir(p) {
			out[p] = true
		}
	}
	return out
}

// file adds a file, once. A file that is excluded under one name may be included under another.
func (w *walk) file(at place) {
	switch {
	case w.seen[at.path] || at.root.layout.Covers(at.in):
	case at.hidden():
		w.hidden[at.path] = true
	default:
		w.seen[at.path] = true
		delete(w.hidden, at.path)
		w.files = append(w.files, file{name: filepath.ToSlash(at.name), path: at.path})
	}
}

// kustomization warns about a folder with a kustomization that is not built.
func (w *walk) kustomization(at place, entries []os.DirEntry) {
	i := slices.IndexFunc(entries, func(e os.DirEntry) bool {
		return !at.inner(e.Name()).hidden() &&
			(e.Name() == "kustomization.yaml" || e.Name() == "kustomization.yml" || e.Name() == "Kustomization")
	})
	if i < 0 || w.builds {
		return
	}
	w.result.Diags = append(w.result.Diags, diag.Diagnostic{
		Severity: diag.Warning, Code: diag.PlainManifests,
		File:    filepath.ToSlash(filepath.Join(at.name, entries[i].Name())),
		Message: "the folder's files are read as plain manifests: kustomizations are not built",
		Hint:    "use --build auto, if patches or generators matter",
	})
}

// refuse reports a link, unless it is excluded. Whatever its name, its target could be a folder of manifests.
func (w *walk) refuse(link place, message string) {
	if link.hidesAll() {
		return
	}
	problem := refusedLink(message)
	problem.File = filepath.ToSlash(link.name)
	w.merge(manifest.Result{Broken: 1, Diags: diag.List{problem}})
}

func refusedLink(message string) diag.Diagnostic {
	return diag.SymlinkRefused.At("", "%s", message).
		WithHint("replace it by a copy, or give the link's target as a path")
}

func (w *walk) merge(r manifest.Result) {
	w.result.Broken += r.Broken
	w.result.Diags = append(w.result.Diags, r.Diags...)
}

// realPath returns the absolute path without links.
func realPath(name string) (string, error) {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// within reports whether a path is the root or below it.
func within(root, path string) bool {
	relative, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(relative)
}

// reason returns the text of an error without the path, which reports add.
func reason(err error) string {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return err.Error()
}
