// Package outdir writes a render to a folder, so that the folder mirrors the render.
//
// It owns the files that the folder's list (.agentry/rendered) names, and only those:
// what is listed and no longer rendered is removed, other people's files are never
// touched. A folder that holds files and no list is refused, and so is a file that would
// be overwritten and is not listed. Files appear whole or not at all, and nothing changes
// before all of them have been written to a staging folder beside them. Nothing is
// written outside of the folder, whatever links are in it.
package outdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names in the folder. They end in nothing that Flux, Argo CD or kubectl would read.
const (
	listName    = ".agentry/rendered"
	stagingName = ".agentry/staging"
)

// File is a file to write. Path is slash-separated and relative to the folder.
type File struct {
	Path string
	Data []byte
	// Private files are readable by their owner only.
	Private bool
}

// ForeignError names what stands in the way and is not ours.
type ForeignError struct {
	Folder, Path string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s holds %s, which agentry did not write", e.Folder, e.Path)
}

// Is reports whether a folder was written by [Write], or is a checkout of an output branch,
// which has an inventory instead of a list.
func Is(folder string) bool {
	for _, name := range []string{listName, ".agentry/inventory"} {
		info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name)))
		if err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Owned returns the paths of the files that an earlier render wrote to the folder.
func Owned(folder string) (map[string]bool, error) {
	owned, err := list(os.DirFS(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return owned, err
}

func list(folder fs.FS) (map[string]bool, error) {
	text, err := fs.ReadFile(folder, listName)
	if err != nil {
		return nil, err
	}
	owned := map[string]bool{}
	for p := range strings.Lines(string(text)) {
		owned[strings.TrimSuffix(p, "\n")] = true
	}
	return owned, nil
}

// Write makes the folder mirror the files. Files of the earlier render for which keep
// returns true stay, although they are not among the files.
func Write(folder string, files []File, keep func(path string) bool) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	w := &writer{folder: folder, root: root}
	if err := w.write(files, keep); err != nil {
		return errors.Join(err, root.RemoveAll(stagingName))
	}
	return root.RemoveAll(stagingName)
}

type writer struct {
	folder string
	root   *os.Root
	owned  map[string]bool // what the list named at the start
}

func (w *writer) write(files []File, keep func(string) bool) error {
	if err := w.readList(); err != nil {
		return err
	}
	if err := w.checkForeign(files); err != nil {
		return err
	}
	changed := slices.DeleteFunc(slices.Clone(files), w.isThere)
	if err := w.stage(changed); err != nil {
		return err
	}
	now, stale := w.split(files, keep)
	// Listing both sets first keeps everything ours if the rest is interrupted.
	if err := w.writeList(slices.Concat(now, stale)); err != nil {
		return err
	}
	if err := w.commit(changed); err != nil {
		return err
	}
	if err := w.remove(stale); err != nil {
		return err
	}
	return w.writeList(now)
}

// split finds what is ours after the write from what is to be removed.
func (w *writer) split(files []File, keep func(string) bool) (now, stale []string) {
	rendered := map[string]bool{}
	for _, f := range files {
		rendered[f.Path] = true
		now = append(now, f.Path)
	}
	for _, p := range slices.Sorted(maps.Keys(w.owned)) {
		switch {
		case rendered[p]:
		case keep(p):
			now = append(now, p)
		default:
			stale = append(stale, p)
		}
	}
	return now, stale
}

// readList reads what is ours; without a list the folder must be empty. A clone of an
// empty repository counts as empty.
func (w *writer) readList() (err error) {
	w.owned, err = list(w.root.FS())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := fs.ReadDir(w.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != ".git" && e.Name() != path.Dir(listName) {
			return &ForeignError{Folder: w.folder, Path: e.Name()}
		}
	}
	return nil
}

// checkForeign refuses to overwrite what is not ours.
func (w *writer) checkForeign(files []File) error {
	for _, f := range files {
		if w.owned[f.Path] {
			continue
		}
		if _, err := w.root.Lstat(f.Path); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			return &ForeignError{Folder: w.folder, Path: f.Path}
		}
	}
	return nil
}

// isThere reports whether a file needs no writing.
func (w *writer) isThere(f File) bool {
	data, err := w.root.ReadFile(f.Path)
	return err == nil && bytes.Equal(data, f.Data)
}

func (w *writer) stage(files []File) error {
	if err := w.root.RemoveAll(stagingName); err != nil {
		return err
	}
	if err := w.root.MkdirAll(stagingName, 0o777); err != nil {
		return err
	}
	for i, f := range files {
		if err := w.root.WriteFile(staged(i), f.Data, mode(f)); err != nil {
			return err
		}
	}
	return nil
}

func staged(i int) string { return stagingName + "/" + strconv.Itoa(i) }

func mode(f File) fs.FileMode {
	if f.Private {
		return 0o600
	}
	return 0o666 // Less what the user's umask takes away.
}

// commit moves the staged files to their places.
func (w *writer) commit(files []File) error {
	for i, f := range files {
		if err := w.root.MkdirAll(path.Dir(f.Path), 0o777); err != nil {
			return err
		}
		if err := w.root.Rename(staged(i), f.Path); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes files, and the folders that they leave empty.
func (w *writer) remove(paths []string) error {
	for _, p := range paths {
		if err := w.root.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			if w.root.Remove(d) != nil {
				break // It is not empty.
			}
		}
	}
	return nil
}

func (w *writer) writeList(paths []string) error {
	slices.Sort(paths)
	if err := w.root.WriteFile(stagingName+"/list", []byte(strings.Join(paths, "\n")+"\n"), 0o666); err != nil {
		return err
	}
	return w.root.Rename(stagingName+"/list", listName)
}
