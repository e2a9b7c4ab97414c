// Package tree reads the files that a build needs: of a Git commit, without a checkout, or of a folder on disk.
//
// A [Tree] belongs to one build and one goroutine. Its names are slash-separated paths from the top of the repository;
// "." is the top. It follows symbolic links only inside of the repository, hides what .sourceignore files hide, and is
// bounded in files and bytes. It notes exactly what a build read ([Reads]), so that the build is repeated only if that
// differs in another commit.
package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
)

const (
	// MaxSteps limits the reads of one Tree, repeated ones too. It bounds kustomizations that name each other many
	// times.
	MaxSteps = 200_000
	// MaxBytes limits the bytes that are read from one Tree.
	MaxBytes = 128 << 20
	// maxLinks limits the symbolic links on the way to one file.
	maxLinks = 40
)

var (
	// ErrOutside means that a path or a symbolic link leads out of the repository.
	ErrOutside = errors.New("leads out of the repository")
	// ErrTooMuch means that a build reads more than it may.
	ErrTooMuch = errors.New("the build reads too much")
	// ErrTooLarge means that a file is larger than a manifest may be.
	ErrTooLarge = fmt.Errorf("the file has more than %d bytes", manifest.MaxFileBytes)
)

// Files are the files of a repository as they are stored: [os.Root.FS], or those of a Git commit.
type Files interface {
	fs.ReadLinkFS
	fs.ReadFileFS
	fs.ReadDirFS
}

// Tree is a read-only view of [Files] for one build.
type Tree struct {
	ctx   context.Context
	files Files
	reads Reads
	rules sourceignore.Rules
	seen  map[string]bool // folders whose .sourceignore was looked for
	texts map[string][]byte
	steps int
	most  int // steps
	bytes int

	isConfined bool // to what is mounted at mount
	mount      string
}

// New returns a view of files. Reads fail once the context has ended.
func New(ctx context.Context, files Files) *Tree {
	return &Tree{ctx: ctx, files: files, most: MaxSteps, reads: Reads{}, rules: sourceignore.Rules{},
		seen: map[string]bool{}, texts: map[string][]byte{}}
}

// ForSearch returns a view of files without the limits of a build, for searches in a whole repository of any size.
func ForSearch(ctx context.Context, files Files) *Tree {
	t := New(ctx, files)
	t.most = math.MaxInt
	return t
}

// Context ends the reads.
func (t *Tree) Context() context.Context { return t.ctx }

// Unsettle notes that something else decided what becomes of the files, which can be otherwise another time:
// [Reads.Same] is false from now on.
func (t *Tree) Unsettle() { t.reads.note(unsettled, "unsettled") }

// Reads returns what was read so far.
func (t *Tree) Reads() Reads { return t.reads }

// Texts returns the files that were read so far, by name. The caller must not change them.
func (t *Tree) Texts() map[string][]byte { return t.texts }

// step counts a read.
func (t *Tree) step() error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if t.steps++; t.steps > t.most {
		return fmt.Errorf("%w: more than %d files and folders", ErrTooMuch, t.most)
	}
	return nil
}

// Resolve returns the name of a file or folder without symbolic links, and whether it is a folder. What does not
// exist, or is hidden, is [fs.ErrNotExist].
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
			return "", false, cmpErr(err, fmt.Errorf("%s: %w", name, errLinks))
		}
		rest = slices.Concat(strings.Split(path.Clean(target), "/"), rest)
	}
	if t.isConfined && mountOf(t.files, real) != t.mount {
		return "", false, fmt.Errorf("%s %w", name, ErrOutside)
	}
	if err := t.hidden(real, isDir); err != nil {
		return "", false, err
	}
	t.reads.note(real, kindOf(isDir))
	return real, isDir, nil
}

var errLinks = fmt.Errorf("there are more than %d symbolic links on the way, or they form a circle", maxLinks)

func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// link returns where a symbolic link leads to.
func (t *Tree) link(at string) (string, error) {
	target, err := t.files.ReadLink(at)
	if err != nil {
		return "", t.absent(at)
	}
	t.reads.note(at, "link "+digest([]byte(target)))
	if path.IsAbs(target) {
		return "", fmt.Errorf("the symbolic link %s %w", at, ErrOutside)
	}
	return target, nil
}

// absent notes that there is no file or folder with that name.
func (t *Tree) absent(name string) error {
	t.reads.note(name, "absent")
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// hidden returns an error if a .sourceignore hides a file or folder.
func (t *Tree) hidden(name string, isDir bool) error {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if !t.seen[dir] {
			t.seen[dir] = true
			t.readRules(dir)
		}
		if dir == "." {
			break
		}
	}
	if isDir || !t.rules.Ignores(name) {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// readRules reads the .sourceignore of a folder, if there is one. One that is a symbolic link cannot be used.
func (t *Tree) readRules(dir string) {
	name := path.Join(dir, sourceignore.FileName)
	info, err := t.files.Lstat(name)
	switch {
	case err != nil || info.IsDir():
		t.reads.note(name, "absent")
		return
	case !info.Mode().IsRegular() || info.Size() > sourceignore.MaxBytes:
		t.reads.note(name, kindOf(false))
		t.rules[dir] = sourceignore.Unusable()
		return
	}
	text, err := t.files.ReadFile(name)
	t.reads.note(name, content(text))
	if err != nil || manifest.IsLFSPointer(text) {
		t.rules[dir] = sourceignore.Unusable()
		return
	}
	t.rules[dir] = sourceignore.Parse(dir, text)
}

// ReadFile returns the text of a file, which the caller must not change.
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
		t.reads.note(real, "large")
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrTooLarge}
	}
	if t.bytes += int(info.Size()); t.bytes > MaxBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooMuch, MaxBytes)
	}
	text, err := t.files.ReadFile(real)
	if err != nil {
		return nil, err
	}
	t.reads.note(real, content(text))
	t.texts[real] = text
	return text, nil
}

// Entry is a name in a folder.
type Entry struct {
	Name  string // without the folder
	IsDir bool   // links are no folders
}

// List returns the files and folders in a folder, by name, without those that are hidden or not files.
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
	t.reads.note(real, listing(entries))
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
