package object

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Files is a Git tree as a file system. It belongs to the goroutine of its [Reader]. Submodules are irregular files.
type Files struct {
	rd   *Reader
	tree plumbing.Hash
}

var (
	_ fs.ReadLinkFS = (*Files)(nil)
	_ fs.ReadFileFS = (*Files)(nil)
	_ fs.ReadDirFS  = (*Files)(nil)
)

// Files returns a tree as a file system.
func (rd *Reader) Files(tree plumbing.Hash) *Files { return &Files{rd, tree} }

// lookup returns the entry at a path.
func (f *Files) lookup(op, name string) (Entry, error) {
	if !fs.ValidPath(name) {
		return Entry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e, err := f.rd.Lookup(f.tree, name)
	if errors.Is(err, ErrPathNotFound) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Entry{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	e.Name = path.Base(name)
	return e, nil
}

// Lstat implements [fs.ReadLinkFS].
func (f *Files) Lstat(name string) (fs.FileInfo, error) {
	e, err := f.lookup("lstat", name)
	if err != nil {
		return nil, err
	}
	return f.info(e)
}

func (f *Files) info(e Entry) (fs.FileInfo, error) {
	if e.Mode == filemode.Dir || e.Mode == filemode.Submodule {
		return fileInfo{e, 0}, nil
	}
	size, err := f.rd.BlobSize(e.Hash)
	return fileInfo{e, size}, err
}

// ReadLink implements [fs.ReadLinkFS].
func (f *Files) ReadLink(name string) (string, error) {
	e, err := f.lookup("readlink", name)
	if err == nil && e.Mode != filemode.Symlink {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return "", err
	}
	const maxTarget = 4096
	target, err := f.rd.Blob(e.Hash, maxTarget)
	return string(target), err
}

// ReadFile implements [fs.ReadFileFS]. It does not follow symbolic links.
func (f *Files) ReadFile(name string) ([]byte, error) {
	e, err := f.lookup("read", name)
	if err == nil && !e.Mode.IsRegular() && e.Mode != filemode.Executable && e.Mode != filemode.Deprecated {
		err = &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return f.rd.Blob(e.Hash, 0)
}

// ReadDir implements [fs.ReadDirFS].
func (f *Files) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := f.lookup("readdir", name)
	if err == nil && e.Mode != filemode.Dir {
		err = &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	entries, err := f.rd.Tree(e.Hash)
	if err != nil {
		return nil, fmt.Errorf("read directory %q: %w", name, err)
	}
	out := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		out[i] = dirEntry{f, e}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// Open implements [fs.FS].
func (f *Files) Open(name string) (fs.File, error) {
	e, err := f.lookup("open", name)
	if err != nil {
		return nil, err
	}
	info, err := f.info(e)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := f.ReadDir(name)
		return &openFolder{openFile{info: info}, entries}, err
	}
	text, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{info, strings.NewReader(string(text))}, nil
}

// fileInfo describes an entry.
type fileInfo struct {
	entry Entry
	size  int64
}

func (i fileInfo) Name() string      { return i.entry.Name }
func (i fileInfo) Size() int64       { return i.size }
func (fileInfo) ModTime() time.Time  { return time.Time{} }
func (i fileInfo) IsDir() bool       { return i.Mode().IsDir() }
func (i fileInfo) Sys() any          { return nil }
func (i fileInfo) Mode() fs.FileMode { return modeOf(i.entry) }

func modeOf(e Entry) fs.FileMode {
	switch e.Mode {
	case filemode.Dir:
		return fs.ModeDir | 0o755
	case filemode.Symlink:
		return fs.ModeSymlink | 0o777
	case filemode.Submodule:
		return fs.ModeIrregular
	case filemode.Executable:
		return 0o755
	}
	return 0o644
}

// dirEntry is an entry of a folder.
type dirEntry struct {
	files *Files
	entry Entry
}

func (d dirEntry) Name() string               { return d.entry.Name }
func (d dirEntry) IsDir() bool                { return d.entry.Mode == filemode.Dir }
func (d dirEntry) Type() fs.FileMode          { return modeOf(d.entry).Type() }
func (d dirEntry) Info() (fs.FileInfo, error) { return d.files.info(d.entry) }

type openFile struct {
	info fs.FileInfo
	text *strings.Reader
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openFile) Close() error               { return nil }
func (o *openFile) Read(buf []byte) (int, error) {
	if o.text == nil {
		return 0, &fs.PathError{Op: "read", Path: o.info.Name(), Err: fs.ErrInvalid}
	}
	return o.text.Read(buf)
}

type openFolder struct {
	openFile
	rest []fs.DirEntry
}

func (o *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(o.rest)
	} else if len(o.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(o.rest))
	out := o.rest[:n]
	o.rest = o.rest[n:]
	return out, nil
}
