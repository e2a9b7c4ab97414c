// Package tree reads the files that a build needs, from a Git commit without a checkout or from a folder on disk.
//
// A [Tree] belongs to one build and one goroutine. Names are slash-separated paths from the top of the repository,
// which is ".". A Tree follows symbolic links only within the repository, hides the files that .sourceignore files
// exclude, and limits the number of reads and bytes. It records what a build has read ([Reads]), so that the build is
// repeated only for a commit in which that differs.
package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
)

const (
	// MaxSteps limits the reads of one Tree, including repeated ones. It stops kustomizations that name each other
	// many times.
	MaxSteps = 200_000
	// MaxBytes limits the bytes that are read from one Tree.
	MaxBytes = 128 << 20
	// maxLinks limits the symbolic links on the way to one file.
	maxLinks = 40
)

var (
	// ErrOutside means that a path or a symbolic link leads out of the repository.
	ErrOutside = errors.New("leads out of the repository")
	// ErrTooMuch means that a build exceeds a limit of its [Tree].
	ErrTooMuch = errors.New("the build reads too much")
	// ErrTooLarge means that a file exceeds [manifest.MaxFileBytes].
	ErrTooLarge = fmt.Errorf("the file has more than %d bytes", manifest.MaxFileBytes)
)

// Files are the stored files of a repository: an [os.Root.FS] or a Git commit.
type Files interface {
	fs.ReadLinkFS
	fs.ReadFileFS
	fs.ReadDirFS
}

// Tree is a read-only view of [Files] for one build.
type Tree struct {
	ctx      context.Context // of the one build that reads: methods of file systems take none
	files    Files
	reads    Reads
	rules    map[string]sourceignore.Rules // by mounted folder; "" is the repository itself
	seen     map[string]bool               // folders whose .sourceignore was read
	hides    Hidden
	texts    map[string][]byte
	steps    int
	maxSteps int
	bytes    int

	isConfined bool // to the repositories mounted in admitted; "" is the repository itself
	admitted   map[string]bool
	passing    map[string]bool // mounted folders whose files are not recorded: see MountFetched
}

// New returns a view of files. Reads fail once the context has ended.
func New(ctx context.Context, files Files) *Tree {
	return &Tree{ctx: ctx, files: files, maxSteps: MaxSteps, reads: Reads{}, rules: map[string]sourceignore.Rules{},
		seen: map[string]bool{}, hides: Hidden{}, texts: map[string][]byte{}, admitted: map[string]bool{},
		passing: map[string]bool{}}
}

// ForSearch returns a view of files without a limit on reads, to search a repository of any size.
func ForSearch(ctx context.Context, files Files) *Tree {
	t := New(ctx, files)
	t.maxSteps = math.MaxInt
	return t
}

// Context ends the reads.
func (t *Tree) Context() context.Context { return t.ctx }

// Unsettle records that the result depends on something besides the files, so that it must not be reused: [Reads.Same]
// is false from now on.
func (t *Tree) Unsettle() { t.reads.note(unsettled, "unsettled") }

// Reads returns everything read so far.
func (t *Tree) Reads() Reads { return t.reads }

// Texts returns the files read so far, by name. The caller must not change them.
func (t *Tree) Texts() map[string][]byte { return t.texts }

// note records a read.
func (t *Tree) note(name, what string) {
	if len(t.passing) == 0 || !t.passing[mountOf(t.files, name)] {
		t.reads.note(name, what)
	}
}

// step counts a read and checks the limit.
func (t *Tree) step() error {
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	if t.steps++; t.steps > t.maxSteps {
		return fmt.Errorf("%w: more than %d files and folders", ErrTooMuch, t.maxSteps)
	}
	return nil
}

// Resolve follows symbolic links and returns the real name of a file or folder. It returns [fs.ErrNotExist] if name
// does not exist or is hidden.
func (t *Tree) Resolve(name string) (real string, isDir bool, err error) {
	if err := t.step(); err != nil {
		return "", false, err
	}
	links := 0
	real, isDir = ".", true
	for rest := strings.Split(path.Clean(name), "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == ".":
			continue
		case part == "..":
			if real == "." || mountOf(t.files, real) == real {
				return "", false, fmt.Errorf("%s %w", name, ErrOutside)
			}
			real, isDir = path.Dir(real), true
			continue
		case !isDir:
			return "", false, t.absent(path.Join(real, part))
		}
		at := path.Join(real, part)
		info, err := t.files.Lstat(at)
		if err != nil {
			return "", false, t.absent(at)
		}
		if info.Mode().Type() != fs.ModeSymlink {
			real, isDir = at, info.IsDir()
			if !isDir && !info.Mode().IsRegular() {
				return "", false, t.absent(at) // a submodule, or a device
			}
			continue
		}
		target, err := t.link(at)
		if links++; err != nil || links > maxLinks {
			return "", false, cmp.Or(err, fmt.Errorf("%s: %w", name, ErrLinks))
		}
		rest = slices.Concat(strings.Split(path.Clean(target), "/"), rest)
	}
	if t.isConfined && !t.admitted[mountOf(t.files, real)] {
		return "", false, fmt.Errorf("%s %w", name, ErrOutside)
	}
	if err := t.hidden(real, isDir); err != nil {
		return "", false, err
	}
	t.note(real, kindOf(isDir))
	return real, isDir, nil
}

// ErrLinks is the error about a path with too many symbolic links.
var ErrLinks = fmt.Errorf("there are more than %d symbolic links on the way, or they form a circle", maxLinks)

// link returns the target of a symbolic link.
func (t *Tree) link(at string) (string, error) {
	target, err := t.files.ReadLink(at)
	if err != nil {
		return "", t.absent(at)
	}
	t.note(at, "link "+digest([]byte(target)))
	if path.IsAbs(target) {
		return "", fmt.Errorf("the symbolic link %s %w", at, ErrOutside)
	}
	return target, nil
}

// absent records that nothing has that name, and returns the error.
func (t *Tree) absent(name string) error {
	t.note(name, "absent")
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Hidden maps files with the names of manifests to the .sourceignore that hides them, with the line of the pattern.
type Hidden map[string]string

// Below returns the files at or below a folder.
func (h Hidden) Below(folder string) Hidden {
	out := maps.Clone(h)
	maps.DeleteFunc(out, func(name, _ string) bool {
		return folder != "." && name != folder && !strings.HasPrefix(name, folder+"/")
	})
	return out
}

// Hidden returns the hidden files that were met so far.
func (t *Tree) Hidden() Hidden { return t.hides }

// hidden returns an error if a .sourceignore excludes a file. Folders are not hidden themselves. As in Flux, the rules
// of a repository are for that repository only: those of one in which it is mounted do not count.
func (t *Tree) hidden(name string, isDir bool) error {
	mount, in := mountOf(t.files, name), t.InRepository(name)
	if t.passing[mount] {
		return nil // kustomize clones it as it is
	}
	for dir := path.Dir(in); ; dir = path.Dir(dir) {
		if at := path.Join(mount, dir); !t.seen[at] {
			t.seen[at] = true
			t.readRules(mount, dir)
		}
		if dir == "." {
			break
		}
	}
	folder, line, isHidden := t.rules[mount].HiddenBy(in)
	if isDir || !isHidden {
		return nil
	}
	if manifest.IsManifestPath(path.Base(name)) {
		t.hides[name] = path.Join(mount, folder, sourceignore.FileName)
		if line > 0 {
			t.hides[name] += ":" + strconv.Itoa(line)
		}
	}
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// readRules reads the .sourceignore of a folder of a mounted repository, if any. It must not be a symbolic link.
func (t *Tree) readRules(mount, dir string) {
	if t.rules[mount] == nil {
		t.rules[mount] = sourceignore.Rules{}
	}
	rules, name := t.rules[mount], path.Join(mount, dir, sourceignore.FileName)
	info, err := t.files.Lstat(name)
	switch {
	case err != nil || info.IsDir():
		t.note(name, "absent")
		return
	case !info.Mode().IsRegular() || info.Size() > sourceignore.MaxBytes:
		t.note(name, kindOf(false))
		rules[dir] = sourceignore.Unusable()
		return
	}
	text, err := t.files.ReadFile(name)
	t.note(name, content(text))
	if err != nil || manifest.IsLFSPointer(text) {
		rules[dir] = sourceignore.Unusable()
		return
	}
	rules[dir] = sourceignore.Parse(dir, text)
}

// ReadFile returns the text of a file. The caller must not change it.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	real, isDir, err := t.Resolve(name)
	if err != nil {
		return nil, err
	}
	if isDir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder")}
	}
	if text, found := t.texts[real]; found {
		return text, nil
	}
	info, err := t.files.Lstat(real)
	if err != nil {
		return nil, err
	}
	if info.Size() > manifest.MaxFileBytes {
		t.note(real, "large")
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrTooLarge}
	}
	if t.bytes += int(info.Size()); t.bytes > MaxBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooMuch, MaxBytes)
	}
	text, err := t.files.ReadFile(real)
	if err != nil {
		return nil, err
	}
	t.note(real, content(text))
	t.texts[real] = text
	return text, nil
}

// Entry is a file or folder in a folder.
type Entry struct {
	Name  string // base name
	IsDir bool   // false for symbolic links
}

// List returns the visible entries of a folder, sorted by name.
func (t *Tree) List(name string) ([]Entry, error) {
	real, isDir, err := t.Resolve(name)
	if err != nil {
		return nil, err
	}
	if !isDir {
		return nil, &fs.PathError{Op: "list", Path: name, Err: errors.New("is a file")}
	}
	entries, err := t.files.ReadDir(real)
	if err != nil {
		return nil, err
	}
	t.note(real, listing(entries))
	var out []Entry
	for _, e := range entries {
		if err := t.step(); err != nil {
			return nil, err
		}
		if t.hidden(path.Join(real, e.Name()), e.IsDir()) == nil {
			out = append(out, Entry{e.Name(), e.IsDir()})
		}
	}
	return out, nil
}
