package tree

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
)

// mounts are the files of a repository with other repositories mounted in folders.
type mounts struct {
	Files
	others map[string]Files // by top-level folder
}

// Mount mounts other repositories in top-level folders, which listings do not show. A build of one repository cannot
// read the others: see [Tree.Confine].
func Mount(own Files, others map[string]Files) Files {
	if len(others) == 0 {
		return own
	}
	if m, ok := own.(mounts); ok {
		all := maps.Clone(m.others)
		maps.Copy(all, others)
		return mounts{m.Files, all}
	}
	return mounts{own, others}
}

// mount returns the mounted folder that contains name, or "".
func (m mounts) mount(name string) string {
	first, _, _ := strings.Cut(path.Clean(name), "/")
	if m.others[first] == nil {
		return ""
	}
	return first
}

// at returns the repository that contains name, and the name there.
func (m mounts) at(name string) (Files, string) {
	top := m.mount(name)
	if top == "" {
		return m.Files, name
	}
	return m.others[top], path.Join(".", "."+strings.TrimPrefix(path.Clean(name), top))
}

// Open implements [fs.FS].
func (m mounts) Open(name string) (fs.File, error) {
	files, in := m.at(name)
	return files.Open(in)
}

// Lstat implements [fs.ReadLinkFS].
func (m mounts) Lstat(name string) (fs.FileInfo, error) {
	files, in := m.at(name)
	return files.Lstat(in)
}

// ReadLink implements [fs.ReadLinkFS].
func (m mounts) ReadLink(name string) (string, error) {
	files, in := m.at(name)
	return files.ReadLink(in)
}

// ReadFile implements [fs.ReadFileFS].
func (m mounts) ReadFile(name string) ([]byte, error) {
	files, in := m.at(name)
	return files.ReadFile(in)
}

// ReadDir implements [fs.ReadDirFS].
func (m mounts) ReadDir(name string) ([]fs.DirEntry, error) {
	files, in := m.at(name)
	return files.ReadDir(in)
}

// mountOf returns the mounted folder that contains name, or "".
func mountOf(files Files, name string) string {
	if m, ok := files.(mounts); ok {
		return m.mount(name)
	}
	return ""
}

// IsMounted reports whether a repository is mounted in a top-level folder.
func (t *Tree) IsMounted(folder string) bool { return mountOf(t.files, folder) != "" }

// Repository returns the folder of the repository that contains name.
func (t *Tree) Repository(name string) string { return path.Join(".", mountOf(t.files, name)) }

// InRepository returns the name of a file or folder within its own repository.
func (t *Tree) InRepository(name string) string {
	if m, ok := t.files.(mounts); ok {
		_, name = m.at(name)
	}
	return name
}

// Confine restricts all further reads to the repository that contains folder, and those that are admitted.
func (t *Tree) Confine(folder string) {
	t.isConfined = true
	t.Admit(folder)
}

// Admit lets a confined tree read the repository that contains folder.
func (t *Tree) Admit(folder string) { t.admitted[mountOf(t.files, folder)] = true }

// MountFetched mounts a repository that was fetched for this build, and admits it. What is read there is not recorded:
// whoever fetched it knows its revision. Its .sourceignore files hide nothing.
func (t *Tree) MountFetched(folder string, files Files) {
	t.files = Mount(t.files, map[string]Files{folder: files})
	t.passing[folder] = true
	t.Admit(folder)
}

// Relative resolves a path that is relative to a folder. As in the programs that read charts, ".." counts before
// symbolic links are followed. Neither may lead out of the folder's own repository.
func (t *Tree) Relative(folder, name string) (real string, isDir bool, err error) {
	top := mountOf(t.files, folder)
	within := path.Join(t.InRepository(folder), name)
	if path.IsAbs(name) || within == ".." || strings.HasPrefix(within, "../") {
		return "", false, fmt.Errorf("%s %w", name, ErrOutside)
	}
	real, isDir, err = t.Resolve(path.Join(top, within))
	if err == nil && mountOf(t.files, real) != top {
		return "", false, fmt.Errorf("%s %w", name, ErrOutside)
	}
	return real, isDir, err
}
