package kustomizer

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/agentry-dev/agentry/internal/worker"
)

// files is the read-only file system of a job, in which / is the top.
type files struct {
	from    worker.Caller
	known   map[string]Entry
	changed map[string][]byte // files with another content, for a trial
}

var _ filesys.FileSystem = (*files)(nil)

var errReadOnly = errors.New("the files of a build cannot be changed")

func newFiles(job Job, from worker.Caller) *files {
	f := &files{from: from, known: map[string]Entry{".": {Name: ".", IsDir: true}}}
	for name, text := range job.Files {
		f.known[name] = Entry{Name: name, Text: text}
		f.known[path.Dir(name)] = Entry{Name: path.Dir(name), IsDir: true}
	}
	return f
}

// inside returns the name of a path below /.
func inside(name string) string { return path.Join(".", path.Clean("/" + filepath.ToSlash(name))[1:]) }

// open returns what is at a path. It asks the caller at most once.
func (f *files) open(name string) (Entry, error) {
	name = inside(name)
	e, found := f.known[name]
	if !found {
		reply, err := f.from.Ask(open, []byte(name))
		if err == nil {
			err = decode(reply, &e)
		}
		if err != nil {
			return e, err
		}
		f.known[name] = e
	}
	switch {
	case e.Refused:
		return e, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	case e.Name == "":
		return e, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return e, nil
}

// ReadFile implements [filesys.FileSystem].
func (f *files) ReadFile(name string) ([]byte, error) {
	e, err := f.open(name)
	if err == nil && e.IsDir {
		err = &fs.PathError{Op: "read", Path: inside(name), Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	text := e.Text
	for _, at := range []string{e.Name, inside(name)} {
		if changed, isChanged := f.changed[at]; isChanged {
			text = changed
		}
	}
	return text, nil
}

// IsDir implements [filesys.FileSystem].
func (f *files) IsDir(name string) bool {
	e, err := f.open(name)
	return err == nil && e.IsDir
}

// Exists implements [filesys.FileSystem].
func (f *files) Exists(name string) bool {
	_, err := f.open(name)
	return err == nil
}

// CleanedAbs implements [filesys.FileSystem].
func (f *files) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	e, err := f.open(name)
	switch {
	case err != nil:
		return "", "", err
	case e.IsDir:
		return filesys.ConfirmedDir(path.Join("/", e.Name)), "", nil
	}
	return filesys.ConfirmedDir(path.Join("/", path.Dir(e.Name))), path.Base(e.Name), nil
}

// ReadDir implements [filesys.FileSystem]. Kustomizations list no folders.
func (f *files) ReadDir(string) ([]string, error) { return nil, errReadOnly }

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
