package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/agentry-dev/agentry/inputs/tree"
)

// files makes a [tree.Tree] a read-only file system for kustomize, in which / is the top of the repository. Unchecked
// kustomizations cannot be read.
type files struct {
	tree    *tree.Tree
	checked map[string]*file  // by folder
	changed map[string][]byte // files with content that replaces the tree's
	failed  error             // the first error other than a missing file
	bytes   int               // bytes read so far
}

var _ filesys.FileSystem = (*files)(nil)

var errReadOnly = errors.New("the files of a build cannot be changed")

// inside returns the tree's name of a path below /.
func inside(name string) string { return path.Join(".", path.Clean("/" + filepath.ToSlash(name))[1:]) }

// note records the first error.
func (f *files) note(err error) error {
	if err != nil && f.failed == nil && !errors.Is(err, fs.ErrNotExist) {
		f.failed = err
	}
	return err
}

var errLoaded = fmt.Errorf("more than %d bytes of files are loaded, counting repetitions", MaxLoadedBytes)

// ReadFile implements [filesys.FileSystem].
func (f *files) ReadFile(name string) ([]byte, error) {
	text, err := f.read(name)
	if f.bytes += len(text); f.bytes > MaxLoadedBytes {
		return nil, f.note(errLoaded)
	}
	return text, err
}

func (f *files) read(name string) ([]byte, error) {
	if text, found := f.changed[inside(name)]; found {
		return text, nil
	}
	real, isDir, err := f.tree.Resolve(inside(name))
	if err != nil || isDir {
		return nil, f.note(errors.Join(err, &fs.PathError{Op: "read", Path: inside(name), Err: fs.ErrNotExist}))
	}
	if text, found := f.changed[real]; found {
		return text, nil
	}
	text, err := f.tree.ReadFile(real)
	if err != nil {
		return nil, f.note(err)
	}
	if isKustomization(name) || isKustomization(real) {
		if k := f.checked[path.Dir(inside(name))]; k == nil || k.name != inside(name) {
			return nil, f.note(errors.New("a kustomization was not checked"))
		}
	}
	return text, f.note(checkAliases(text))
}

func isKustomization(name string) bool {
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		if path.Base(name) == base {
			return true
		}
	}
	return false
}

// IsDir implements [filesys.FileSystem].
func (f *files) IsDir(name string) bool {
	_, isDir, err := f.tree.Resolve(inside(name))
	return f.note(err) == nil && isDir
}

// Exists implements [filesys.FileSystem].
func (f *files) Exists(name string) bool {
	_, _, err := f.tree.Resolve(inside(name))
	return f.note(err) == nil
}

// CleanedAbs implements [filesys.FileSystem].
func (f *files) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	real, isDir, err := f.tree.Resolve(inside(name))
	switch {
	case err != nil:
		return "", "", f.note(err)
	case isDir:
		return filesys.ConfirmedDir(path.Join("/", real)), "", nil
	}
	return filesys.ConfirmedDir(path.Join("/", path.Dir(real))), path.Base(real), nil
}

// ReadDir implements [filesys.FileSystem].
func (f *files) ReadDir(name string) ([]string, error) {
	entries, err := f.tree.List(inside(name))
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return names, f.note(err)
}

// Open implements [filesys.FileSystem]. kustomize reads whole files.
func (f *files) Open(string) (filesys.File, error) { return nil, errReadOnly }

// Glob implements [filesys.FileSystem]. Kustomizations have no patterns.
func (f *files) Glob(string) ([]string, error) { return nil, errReadOnly }

// Walk implements [filesys.FileSystem].
func (f *files) Walk(string, filepath.WalkFunc) error { return errReadOnly }

// Create implements [filesys.FileSystem].
func (f *files) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements [filesys.FileSystem].
func (f *files) Mkdir(string) error { return errReadOnly }

// MkdirAll implements [filesys.FileSystem].
func (f *files) MkdirAll(string) error { return errReadOnly }

// RemoveAll implements [filesys.FileSystem].
func (f *files) RemoveAll(string) error { return errReadOnly }

// WriteFile implements [filesys.FileSystem].
func (f *files) WriteFile(string, []byte) error { return errReadOnly }
