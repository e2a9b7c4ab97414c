package tree

import (
	"bytes"
	"io/fs"
	"time"
)

// OneFile returns a repository with one file at its top.
func OneFile(name string, text []byte) Files { return &oneFile{name, text} }

// oneFile is also the information about its file.
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
func (*oneFile) Mode() fs.FileMode  { return 0o444 }
func (*oneFile) ModTime() time.Time { return time.Time{} }
func (*oneFile) IsDir() bool        { return false }
func (*oneFile) Sys() any           { return nil }

// Open implements [fs.FS]. A [Tree] opens no file: it reads them.
func (*oneFile) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

// Lstat implements [fs.ReadLinkFS].
func (f *oneFile) Lstat(name string) (fs.FileInfo, error) {
	if name != f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f, nil
}

// ReadLink implements [fs.ReadLinkFS].
func (*oneFile) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

// ReadFile implements [fs.ReadFileFS].
func (f *oneFile) ReadFile(name string) ([]byte, error) {
	_, err := f.Lstat(name)
	return bytes.Clone(f.text), err
}

// ReadDir implements [fs.ReadDirFS].
func (f *oneFile) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(f)}, nil
}
