package folder

import (
	"cmp"
	"os"
	"path"
	"path/filepath"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
	"github.com/agentry-dev/agentry/inputs"
)

// root is the folder that the rules of .sourceignore files are relative to: the repository that a path
// is in, else the current folder if kustomizations are built, else the outermost folder that was named.
type root struct {
	path  string // on disk
	rules sourceignore.Rules
	read  map[string]bool // folders in it whose .sourceignore was read, or does not exist

	layout *inputs.Layout // nil if nothing is built
}

// place is a file or a folder, and its path in its root.
type place struct {
	file
	root *root
	in   string // the path, with slashes; "." is the root
}

// inner is a place in a folder.
func (p place) inner(name string) place {
	return place{file{name: filepath.Join(p.name, name), path: filepath.Join(p.path, name)}, p.root,
		path.Join(p.in, name)}
}

// hidden reports whether rules hide the file.
func (p place) hidden() bool { return p.root.rules.Ignores(p.in) }

// hiddenWhole reports whether rules hide a folder, or any file in it.
func (p place) hiddenWhole() bool { return p.hidden() || p.root.rules.Ignores(path.Join(p.in, "file")) }

// locate finds the root of a path, and reads the .sourceignore files above it.
func (w *walk) locate(f file, isDir bool) place {
	folder := f
	if !isDir {
		folder = file{name: filepath.Dir(f.name), path: filepath.Dir(f.path)}
	}
	top := cmp.Or(repository(folder.path), w.here(folder.path), w.outermost(folder.path), folder.path)
	r := w.roots[top]
	if r == nil {
		r = &root{path: top, rules: sourceignore.Rules{}, read: map[string]bool{}}
		w.roots[top] = r
	}
	at := place{f, r, r.relative(f.path)}
	for up := (place{folder, r, r.relative(folder.path)}); ; up = (place{file{name: filepath.Join(up.name, ".."),
		path: filepath.Dir(up.path)}, r, path.Dir(up.in)}) {
		w.ignoreFile(up)
		if up.in == "." {
			return at
		}
	}
}

func (r *root) relative(name string) string {
	in, err := filepath.Rel(r.path, name)
	if err != nil {
		return "." // both are absolute and without links, and one is below the other
	}
	return filepath.ToSlash(in)
}

// repository is the nearest folder from one upwards that git works in; empty if none does.
func repository(folder string) string {
	for {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return folder
		}
		up := filepath.Dir(folder)
		if up == folder {
			return ""
		}
		folder = up
	}
}

// here is the current folder if kustomizations are built and a path is below it: their bases can be anywhere in it.
func (w *walk) here(name string) string {
	if here, err := realPath("."); w.builds && err == nil && within(here, name) {
		return here
	}
	return ""
}

// outermost is the outermost of the named folders that contain a path, so that the order of the paths
// makes no difference; empty if none does.
func (w *walk) outermost(name string) string {
	found := ""
	for _, folder := range w.named {
		if within(folder.path, name) && (found == "" || len(folder.path) < len(found)) {
			found = folder.path
		}
	}
	return found
}

// ignoreFile reads the .sourceignore of a folder, if there is one.
func (w *walk) ignoreFile(folder place) {
	if folder.root.read[folder.in] {
		return
	}
	folder.root.read[folder.in] = true
	p := folder.inner(sourceignore.FileName)
	if info, err := os.Lstat(p.path); err != nil || info.IsDir() {
		return // a folder that cannot be read is reported as such
	}
	rules, problem := p.ignoreRules(folder.in)
	folder.root.rules[folder.in] = rules
	if rules.Unusable && !p.hidden() {
		problem.File = filepath.ToSlash(p.name)
		w.merge(manifest.Result{Broken: 1, Diags: diag.List{problem}})
	}
}

// ignoreRules reads the file; if it is unusable, the diagnostic says why.
func (p place) ignoreRules(folder string) (sourceignore.File, diag.Diagnostic) {
	target, err := realPath(p.path)
	if err != nil {
		return sourceignore.Unusable(), refusedLink("is a symbolic link that leads nowhere: " + reason(err))
	}
	if !within(p.root.path, target) {
		return sourceignore.Unusable(),
			refusedLink("is a symbolic link that leads out of the folder, and is not followed")
	}
	info, err := os.Stat(target)
	if err != nil {
		return sourceignore.Unusable(), unreadable(p.name, err).Diags[0]
	}
	if !info.Mode().IsRegular() || info.Size() > sourceignore.MaxBytes {
		return sourceignore.Unusable(), sourceignore.Problem()
	}
	text, err := p.read(nil)
	if err != nil {
		return sourceignore.Unusable(), unreadable(p.name, err).Diags[0]
	}
	if manifest.IsLFSPointer(text) {
		return sourceignore.Unusable(), sourceignore.Problem()
	}
	return sourceignore.Parse(folder, text), sourceignore.Problem()
}
