package tree

import (
	"bytes"
	"io/fs"
	"time"
)

// OneFile returns a repository with one file at its top.
func OneFile(name string, text []byte) Files { return &oneFile{name: name, text: text} }

// oneFile is also the information about its file, and with the name "." about the folder.
type oneFile struct {
	name string
	text []byte
}

var (
	_ Files       = (*oneFile)(nil)
	_ fs.FileInfo = (*oneFile)(nil)
)

func (f *oneFile) Name() string     { return f.name }
func (f *oneFile) Size() int64      { return int64(len(f.text)) }
func (*oneFile) ModTime() time.Time { return time.Time{} }
func (f *oneFile) IsDir() bool      { return f.name == "." }
func (*oneFile) Sys() any           { return nil }
func (f *oneFile) Mode() fs.FileMode {
	if f.IsDir() {
		return fs.ModeDir
	}
	return 0
}

// Open implements [fs.FS]. A [Tree] opens no file: it reads them.
func (*oneFile) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

// Lstat implements [fs.ReadLinkFS].
func (f *oneFile) Lstat(name string) (fs.FileInfo, error) {
	switch name {
	case f.name:
		return f, nil
	case ".":
		return &oneFile{name: "."}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadLink implements [fs.ReadLinkFS].
func (*oneFile) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

// ReadFile implements [fs.ReadFileFS].
func (f *oneFile) ReadFile(name string) ([]byte, error) {
	if name != f.name {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return bytes.Clone(f.text), nil
}

// ReadDir implements [fs.ReadDirFS].
func (f *oneFile) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(f)}, nil
}
