package tree

import (
	"io/fs"
	"path"
	"strings"
)

// mounted are the files of a repository, with other repositories in folders of it.
type mounted struct {
	Files
	others map[string]Files // by the folder, at the top
}

// Mount returns files with other repositories in folders at the top, which listings do not show. A build of one
// repository cannot read the others: see [Tree.Confine].
func Mount(own Files, others map[string]Files) Files {
	if len(others) == 0 {
		return own
	}
	return mounted{own, others}
}

// mount returns the mounted folder that a name is in, or "".
func (m mounted) mount(name string) string {
	first, _, _ := strings.Cut(path.Clean(name), "/")
	if m.others[first] == nil {
		return ""
	}
	return first
}

// at returns the repository that a name is in, and its name there.
func (m mounted) at(name string) (Files, string) {
	top := m.mount(name)
	if top == "" {
		return m.Files, name
	}
	return m.others[top], path.Join(".", "."+strings.TrimPrefix(path.Clean(name), top))
}

// Open implements [fs.FS].
func (m mounted) Open(name string) (fs.File, error) {
	files, in := m.at(name)
	return files.Open(in)
}

// Lstat implements [fs.ReadLinkFS].
func (m mounted) Lstat(name string) (fs.FileInfo, error) {
	files, in := m.at(name)
	return files.Lstat(in)
}

// ReadLink implements [fs.ReadLinkFS].
func (m mounted) ReadLink(name string) (string, error) {
	files, in := m.at(name)
	return files.ReadLink(in)
}

// ReadFile implements [fs.ReadFileFS].
func (m mounted) ReadFile(name string) ([]byte, error) {
	files, in := m.at(name)
	return files.ReadFile(in)
}

// ReadDir implements [fs.ReadDirFS].
func (m mounted) ReadDir(name string) ([]fs.DirEntry, error) {
	files, in := m.at(name)
	return files.ReadDir(in)
}

// mountOf returns the mounted folder that a name is in, or "".
func mountOf(files Files, name string) string {
	if m, ok := files.(mounted); ok {
		return m.mount(name)
	}
	return ""
}

// InRepository returns the name of a file or folder in its own repository.
func (t *Tree) InRepository(name string) string {
	if m, ok := t.files.(mounted); ok {
		_, name = m.at(name)
	}
	return name
}

// Confine keeps all further reads in the repository that a folder is in.
func (t *Tree) Confine(folder string) {
	t.isConfined, t.mount = true, mountOf(t.files, folder)
}
