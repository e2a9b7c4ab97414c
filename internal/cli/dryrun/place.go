package dryrun

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// place is a path of the command line.
type place struct {
	name string // as it was typed, clean
	disk string // absolute, without links
	top  string // the folder whose tree it is read from
	in   string // the slash-separated path in the tree
}

// workTree is a folder that passes read as a source.
type workTree struct {
	top    string
	isRepo bool
	places []place
}

// named returns the paths in the tree that are read even if Git ignores them.
func (w *workTree) named() (out []string) {
	for _, p := range w.places {
		out = append(out, p.in)
	}
	return out
}

// locate finds the trees that paths are in. Paths outside of a repository are in the tree of this folder, if they are
// below it, because their bases can be anywhere in it; else in that of the outermost folder that is named. At a
// revision a path need not be on the disk.
func locate(paths []string, atRevision bool) (trees []*workTree, err error) {
	var places []place
	for _, name := range paths {
		p := place{name: filepath.Clean(name)}
		if p.disk, err = filepath.EvalSymlinks(name); err == nil || atRevision {
			p.disk, err = filepath.Abs(cmp.Or(p.disk, name))
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %s", name, reason(err))
		}
		places = append(places, p)
	}
	here, err := workingFolder()
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		folder := p.disk
		if info, err := os.Stat(p.disk); err == nil && !info.IsDir() {
			folder = filepath.Dir(p.disk)
		} else if err != nil && !atRevision {
			return nil, fmt.Errorf("read %s: %s", p.name, reason(err))
		}
		p.top = checkout.Top(folder)
		isRepo := p.top != ""
		switch {
		case isRepo:
		case within(here, p.disk):
			p.top = here
		default:
			p.top = outermost(places, folder)
		}
		below, err := filepath.Rel(p.top, p.disk)
		if err != nil {
			return nil, err
		}
		p.in = filepath.ToSlash(below)
		i := slices.IndexFunc(trees, func(t *workTree) bool { return t.top == p.top })
		if i < 0 {
			i, trees = len(trees), append(trees, &workTree{top: p.top, isRepo: isRepo})
		}
		trees[i].places = append(trees[i].places, p)
	}
	return trees, nil
}

func workingFolder() (string, error) { return realPath(".") }

// realPath returns the absolute path without links.
func realPath(name string) (string, error) {
	at, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(at)
}

// outermost returns the outermost folder that is named and contains a folder.
func outermost(places []place, folder string) string {
	found := folder
	for _, p := range places {
		if info, err := os.Stat(p.disk); err == nil && info.IsDir() && within(p.disk, found) {
			found = p.disk
		}
	}
	return found
}

// within reports whether a path on disk is the root or below it.
func within(root, name string) bool {
	below, err := filepath.Rel(root, name)
	return err == nil && filepath.IsLocal(below)
}

// reason returns the text of an error without the path, which the message has already.
func reason(err error) string {
	if inner, ok := err.(*fs.PathError); ok { //nolint:errorlint // only the outermost has the path
		err = inner.Err
	}
	return err.Error()
}

// show returns the name that people know of a file in the tree: below a path as it was typed, else relative to the
// current folder.
func (w *workTree) show(file string) string {
	for _, p := range w.places {
		if pipeline.Within(p.in, file) {
			below, _ := filepath.Rel(filepath.FromSlash(p.in), filepath.FromSlash(file)) // both are relative
			return filepath.ToSlash(filepath.Join(p.name, below))
		}
	}
	at := filepath.Join(w.top, filepath.FromSlash(file))
	if here, err := workingFolder(); err == nil {
		if below, err := filepath.Rel(here, at); err == nil {
			return filepath.ToSlash(below)
		}
	}
	return filepath.ToSlash(at)
}

// holds reports whether a file of the tree is at or below one of the paths.
func (w *workTree) holds(file string) bool {
	return slices.ContainsFunc(w.places, func(p place) bool { return pipeline.Within(p.in, path.Clean(file)) })
}

// readStdin reads standard input, up to the size of a manifest and one byte.
func readStdin(in io.Reader) ([]byte, error) {
	if in == nil {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(in, manifest.MaxFileBytes+1))
}

// checkSources checks the folders in place of sources.
func checkSources(sources map[string]string) error {
	for name, folder := range sources {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return command.Usagef("name a folder that is there", "--source %s: %s is not a folder", name, folder)
		}
	}
	return nil
}

// governing returns the pipeline file that governs a folder, or "": one in it or above it, up to the top of its
// repository.
func governing(folder string) (string, error) {
	top := checkout.Top(folder)
	for {
		for _, name := range pipelinefile.Names() {
			file := filepath.Join(folder, name)
			isMeant, err := isMeant(file)
			if isMeant || err != nil {
				return file, err
			}
		}
		if top == "" || folder == top {
			return "", nil
		}
		folder = filepath.Dir(folder)
	}
}

// isMeant reports whether a file is meant as a pipeline file.
func isMeant(file string) (bool, error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	text, err := pipelinefile.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("read the pipeline file %s: %s", file, reason(err))
	}
	return pipelinefile.IsMeant(text), nil
}

// Up returns the way from the current folder up to the top of its repository, or nothing if there is none.
func Up() string {
	here, err := workingFolder()
	if err != nil {
		return ""
	}
	top := checkout.Top(here)
	up, err := filepath.Rel(here, top)
	if top == "" || top == here || err != nil {
		return ""
	}
	return up
}
