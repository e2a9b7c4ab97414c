package checkout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// FolderOptions configure a [Folder].
type FolderOptions struct {
	// Named are slash-separated paths below the top that are read even if Git ignores them.
	Named []string
	// Exact gives each file the id that Git has for its content, so that it can be compared with commits.
	Exact bool
	// Skip reports whether a folder is left out, unless Git tracks files in it: those are in commits. It gets the path
	// on disk.
	Skip func(folder string) bool
}

// Folder is a folder on disk as the tree of a commit: the files that git add would add. It lists a folder once, when
// somebody asks for it, and reads a file when somebody asks for its content. Symbolic links are entries of the tree and
// are not followed; in a repository, so are submodules.
type Folder struct {
	top    string
	root   *os.Root
	opts   FolderOptions
	git    gitFolder
	commit *object.Commit

	mu       sync.Mutex
	folders  map[plumbing.Hash]string // by the id of the tree
	listings map[string]*listing      // by path
	files    map[plumbing.Hash]file
	problems diag.List
	hidden   int
	skipped  []string
}

// file is where the content of a blob is.
type file struct {
	name   string
	size   int64
	isLink bool
}

// OpenFolder opens a folder. The caller must close it.
func OpenFolder(top string, opts FolderOptions) (*Folder, error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	f := &Folder{top: top, root: root, opts: opts, git: gitFolder{top: top}, folders: map[plumbing.Hash]string{},
		listings: map[string]*listing{}, files: map[plumbing.Hash]file{}}
	f.commit = commitOf(f.tree("."), "the files of "+top)
	return f, nil
}

// StandFor makes the commit of the folder be one of its repository, if that has exactly the same files. rd reads the
// repository.
func (f *Folder) StandFor(commit *object.Commit, rd *object.Reader) error {
	isSame, err := f.equals(rd, commit.Tree, ".")
	if err != nil || !isSame {
		return err
	}
	same := *f.commit
	same.Hash, same.Author, same.Committer, same.Message = commit.Hash, commit.Author, commit.Committer, commit.Message
	same.IsDraft = false
	f.commit = &same
	return nil
}

// equals reports whether a folder has exactly the files of a tree.
func (f *Folder) equals(rd *object.Reader, tree plumbing.Hash, name string) (bool, error) {
	want, err := rd.Tree(tree)
	if err != nil {
		return false, err
	}
	got := slices.DeleteFunc(f.entries(name), func(e object.Entry) bool {
		return e.Mode == filemode.Dir && f.isEmpty(path.Join(name, e.Name))
	})
	if len(want) != len(got) {
		return false, nil
	}
	for i, e := range want {
		isFolder := e.Mode == filemode.Dir
		if got[i].Name != e.Name || got[i].Mode != e.Mode ||
			!isFolder && e.Mode != filemode.Submodule && got[i].Hash != e.Hash {
			return false, nil
		}
		if isFolder {
			if isSame, err := f.equals(rd, e.Hash, path.Join(name, e.Name)); !isSame || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// entries returns the entries of the tree of a folder.
func (f *Folder) entries(name string) []object.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list(name).entries)
}

// isEmpty reports whether a folder has no file at any depth: commits do not have it.
func (f *Folder) isEmpty(name string) bool {
	return !slices.ContainsFunc(f.entries(name), func(e object.Entry) bool {
		return e.Mode != filemode.Dir || !f.isEmpty(path.Join(name, e.Name))
	})
}

// Close closes the folder. It must not be used afterwards.
func (f *Folder) Close() { _ = f.root.Close() } // nothing was written

// ID returns the id of the commit that stands for the folder.
func (f *Folder) ID() plumbing.Hash { return f.commit.Hash }

// IsDraft reports whether the commit is made up.
func (f *Folder) IsDraft() bool { return f.commit.IsDraft }

// Problems returns what could not be read, as errors.
func (f *Folder) Problems() diag.List {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.problems)
}

// Hidden returns the number of manifest files that Git ignores, in the folders that were listed.
func (f *Folder) Hidden() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hidden
}

// Untracked returns the folders that Skip left out of a repository, in the folders that were listed.
func (f *Folder) Untracked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.git.isRepository() {
		return nil
	}
	return slices.Sorted(slices.Values(f.skipped))
}

// tree returns the id of the tree of a folder.
func (f *Folder) tree(name string) plumbing.Hash {
	h := id("tree", f.top, name)
	f.folders[h] = name
	return h
}

// Has implements [object.Objects].
func (f *Folder) Has(h plumbing.Hash) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, isFolder := f.folders[h]
	_, isFile := f.files[h]
	return isFolder || isFile || h == f.commit.Hash
}

// Commit implements [object.Objects].
func (f *Folder) Commit(h plumbing.Hash) (*object.Commit, error) {
	if h != f.commit.Hash {
		return nil, fmt.Errorf("%w: %s", object.ErrNotFound, h)
	}
	return f.commit, nil
}

// Tree implements [object.Objects].
func (f *Folder) Tree(h plumbing.Hash) ([]object.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name, ok := f.folders[h]
	if !ok {
		return nil, fmt.Errorf("%w: %s", object.ErrNotFound, h)
	}
	return f.list(name).entries, nil
}

// BlobSize implements [object.Objects].
func (f *Folder) BlobSize(h plumbing.Hash) (int64, error) {
	at, err := f.file(h)
	return at.size, err
}

func (f *Folder) file(h plumbing.Hash) (file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.files[h]
	if !ok {
		return at, fmt.Errorf("%w: %s", object.ErrNotFound, h)
	}
	return at, nil
}

// Blob implements [object.Objects]. A file that cannot be read is empty, and a problem.
func (f *Folder) Blob(h plumbing.Hash, maxBytes int64) ([]byte, error) {
	at, err := f.file(h)
	if err != nil {
		return nil, err
	}
	if at.isLink {
		target, err := f.root.Readlink(filepath.FromSlash(at.name))
		return []byte(target), err
	}
	text, err := f.read(at, maxBytes)
	if err != nil && !errors.Is(err, limit.ErrTooLarge) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.report(at.name, err)
		return nil, nil
	}
	return text, err
}

func (f *Folder) read(at file, maxBytes int64) ([]byte, error) {
	in, err := f.root.Open(filepath.FromSlash(at.name))
	if err != nil {
		return nil, err
	}
	defer in.Close() // nothing was written
	if maxBytes <= 0 {
		return io.ReadAll(in)
	}
	text := make([]byte, min(at.size, maxBytes)+1) // one more, to meet the end
	n := 0
	for {
		m, err := in.Read(text[n:])
		n += m
		switch {
		case errors.Is(err, io.EOF):
			return text[:n], nil
		case err != nil:
			return nil, err
		case int64(n) > maxBytes:
			return nil, fmt.Errorf("%s: %w: at most %d bytes are allowed", at.name, limit.ErrTooLarge, maxBytes)
		case n == len(text):
			text = append(text, make([]byte, len(text))...) // it grew since it was listed
		}
	}
}

// report keeps what could not be read. The caller holds mu.
func (f *Folder) report(name string, err error) {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	d := diag.UnreadableFile.At("", "cannot be read: %v", err)
	d.File = name
	if !slices.ContainsFunc(f.problems, d.Same) {
		f.problems = append(f.problems, d)
	}
}

// listing is a folder as the tree has it.
type listing struct {
	entries []object.Entry
	rules   ignoreRules
}

// list lists a folder. The caller holds mu.
func (f *Folder) list(name string) *listing {
	if known := f.listings[name]; known != nil {
		return known
	}
	l := &listing{}
	f.listings[name] = l
	if name == "." {
		l.rules = f.git.rules()
	} else {
		l.rules = f.list(path.Dir(name)).rules.below(name, f.opts.Named)
	}
	opened, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		f.report(name, err)
		return l
	}
	defer opened.Close() // nothing was written
	found, err := opened.ReadDir(-1)
	if err != nil {
		f.report(name, err)
	}
	l.rules.add(name, f.ignoreFile(name, found))
	for _, e := range found {
		if entry, ok := f.entry(path.Join(name, e.Name()), e, &l.rules); ok {
			l.entries = append(l.entries, entry)
		}
	}
	object.SortTree(l.entries)
	return l
}

// ignoreFile returns the text of the .gitignore of a folder in a repository.
func (f *Folder) ignoreFile(folder string, found []os.DirEntry) []byte {
	if !f.git.isRepository() || !slices.ContainsFunc(found, func(e os.DirEntry) bool {
		return e.Name() == ignoreFileName && e.Type().IsRegular()
	}) {
		return nil
	}
	text, err := f.read(file{name: path.Join(folder, ignoreFileName)}, maxIgnoreBytes)
	if err != nil {
		f.report(path.Join(folder, ignoreFileName), err)
	}
	return text
}

// entry returns the entry of a tree for a file or folder, unless it is left out.
func (f *Folder) entry(name string, e os.DirEntry, rules *ignoreRules) (out object.Entry, ok bool) {
	if e.Name() == ".git" || rules.ignores(name, e.IsDir()) && !f.isNamed(name) && !f.git.tracks(name, e.IsDir()) {
		if !e.IsDir() && manifest.IsManifestPath(e.Name()) {
			f.hidden++
		}
		return out, false
	}
	out.Name = e.Name()
	if e.IsDir() {
		return f.folder(name, out)
	}
	info, err := e.Info()
	if err != nil {
		f.report(name, err)
		return out, false
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		out.Mode = filemode.Symlink
	case !info.Mode().IsRegular():
		return out, false // as Git, which knows no sockets and devices
	case info.Mode()&0o100 != 0:
		out.Mode = filemode.Executable
	default:
		out.Mode = filemode.Regular
	}
	at := file{name: name, size: info.Size(), isLink: out.Mode == filemode.Symlink}
	out.Hash = f.blob(at, info)
	f.files[out.Hash] = at
	return out, true
}

// folder returns the entry for a folder.
func (f *Folder) folder(name string, e object.Entry) (object.Entry, bool) {
	onDisk := filepath.Join(f.top, filepath.FromSlash(name))
	if f.opts.Skip != nil && !f.git.tracks(name, true) && f.opts.Skip(onDisk) {
		f.skipped = append(f.skipped, name)
		return e, false
	}
	if _, err := os.Lstat(filepath.Join(onDisk, ".git")); err == nil && f.git.isRepository() {
		e.Mode, e.Hash = filemode.Submodule, id("submodule", name)
		return e, true
	}
	e.Mode, e.Hash = filemode.Dir, f.tree(name)
	return e, true
}

// isNamed reports whether a path is one that is read even if Git ignores it, or a folder on the way there.
func (f *Folder) isNamed(name string) bool {
	return slices.ContainsFunc(f.opts.Named, func(named string) bool { return pipeline.Within(name, named) })
}

// blob returns the id of a file.
func (f *Folder) blob(at file, info fs.FileInfo) plumbing.Hash {
	stand := id("blob", f.top, at.name, strconv.FormatInt(at.size, 10), info.ModTime().String())
	if !f.opts.Exact || at.size > manifest.MaxFileBytes {
		return stand
	}
	if h, ok := f.git.unchanged(at.name, info); ok {
		return h
	}
	var text []byte
	var err error
	if at.isLink {
		var target string
		target, err = f.root.Readlink(filepath.FromSlash(at.name))
		text = []byte(target)
	} else {
		text, err = f.read(at, manifest.MaxFileBytes)
	}
	if err != nil {
		return stand // whoever reads the content reports it
	}
	return plumbing.ComputeHash(plumbing.BlobObject, text)
}

// Text returns the text of a file, or nil, so that reports can quote it.
func (f *Folder) Text(name string) []byte {
	if strings.HasPrefix(name, "@") || !fs.ValidPath(name) {
		return nil
	}
	text, err := f.read(file{name: name}, manifest.MaxFileBytes)
	if err != nil {
		return nil
	}
	return text
}
