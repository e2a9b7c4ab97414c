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

// root is the folder in which .sourceignore files apply: the repository that contains a path, else the current folder
// if kustomizations are built, else the outermost given folder.
type root struct {
	path  string // on disk
	rules sourceignore.Rules
	read  map[string]bool // folders whose .sourceignore was read, if any

	layout *inputs.Layout // nil if nothing is built
}

// place is a file or folder in its root.
type place struct {
	file
	root *root
	in   string // the slash-separated path in the root, "." for the root
}

// inner returns a place in a folder.
func (p place) inner(name string) place {
	return place{file{name: filepath.Join(p.name, name), path: filepath.Join(p.path, name)}, p.root,
		path.Join(p.in, name)}
}

// hidden reports whether the rules exclude the file.
func (p place) hidden() bool { return p.root.rules.Ignores(p.in) }

// hidesAll reports whether the rules exclude a folder, or all files in it.
func (p place) hidesAll() bool { return p.hidden() || p.root.rules.Ignores(path.Join(p.in, "file")) }

// locate finds the root of a path and reads the .sourceignore files above it.
func (w *walk) locate(f file, isDir bool) place {
	folder := f
	if !isDir {
		folder = file{name: filepath.Dir(f.name), path: filepath.Dir(f.path)}
	}
	top := cmp.Or(repository(folder.path), w.currentFolder(folder.path), w.outermost(folder.path), folder.path)
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
		return "." // cannot happen: both are absolute and without links
	}
	return filepath.ToSlash(in)
}

// repository returns the Git work tree that contains a folder, or "".
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

// currentFolder returns the current folder if kustomizations are built and a path is below it, because their bases can
// be anywhere in it; else it returns "".
func (w *walk) currentFolder(name string) string {
	if here, err := realPath("."); w.builds && err == nil && within(here, name) {
		return here
	}
	return ""
}

// outermost returns the outermost given folder that contains a path, or "". The order of the given paths thus makes no
// difference.
func (w *walk) outermost(name string) string {
	found := ""
	for _, folder := range w.named {
		if within(folder.path, name) && (found == "" || len(folder.path) < len(found)) {
			found = folder.path
		}
	}
	return found
}

// ignoreFile reads the .sourceignore of a folder, if any.
func (w *walk) ignoreFile(folder place) {
	if folder.root.read[folder.in] {
		return
	}
	folder.root.read[folder.in] = true
	p := folder.inner(sourceignore.FileName)
	if info, err := os.Lstat(p.path); err != nil || info.IsDir() {
		return // reading the folder reports it if it is unreadable
	}
	rules, problem := p.ignoreRules(folder.in)
	folder.root.rules[folder.in] = rules
	if rules.Unusable && !p.hidden() {
		problem.File = filepath.ToSlash(p.name)
		w.merge(manifest.Result{Broken: 1, Diags: diag.List{problem}})
	}
}

// ignoreRules reads a .sourceignore. If it is unusable, the diagnostic says why.
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
