// Package outdir writes a render to a folder, so that the folder contains exactly the rendered files.
//
// It owns only the files in the folder's list (.agentry/rendered): listed files that are no longer rendered are
// removed, and other files are never changed. The folder can come from a foreign repository, so a list with a name
// that no render writes is refused, and a listed file is removed only if its hash is the one in the list. It refuses a
// folder that has files but no list, and a render that would overwrite an unlisted file. All files are first written
// to a staging folder beside their target, and then moved, so that every file is complete. Nothing is written outside
// the folder, even through links in it.
package outdir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Names in the folder. Flux, Argo CD and kubectl do not read files with their endings.
const (
	listName    = ".agentry/rendered"
	stagingName = ".agentry/staging"
)

// File is a file to write. Path is slash-separated and relative to the folder.
type File struct {
	Path string
	Data []byte
	// Private means that only the owner can read the file.
	Private bool
}

// ForeignError is the error about a file in the way of the render that agentry did not write.
type ForeignError struct {
	Folder, Path string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s contains %s, which agentry did not write", e.Folder, e.Path)
}

// Is reports whether a folder was written by [Write], or is a checkout of an output branch, which has an inventory
// instead of the list.
func Is(folder string) bool { return isIn(os.DirFS(folder), ".") }

// maxDepth limits how deep folders with output, and other manifests, are looked for: output.path has few parts.
const maxDepth = 4

// Folders returns the folders of files that agentry wrote: ".", or, if there is nothing else to read, the folders below
// it, one for each of several pipelines. Otherwise there are none.
func Folders(files fs.FS) []string {
	found, _ := foldersIn(files, ".", maxDepth)
	return found
}

// foldersIn returns the folders that agentry wrote, at or below a folder, unless there is something else.
func foldersIn(files fs.FS, folder string, depth int) (found []string, ok bool) {
	if isIn(files, folder) {
		return []string{folder}, true
	}
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, false // who reads it says why
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case !e.IsDir() && manifest.IsManifestPath(e.Name()):
			return nil, false
		case e.IsDir() && depth > 0 && !strings.HasPrefix(e.Name(), "."):
			below, ok := foldersIn(files, name, depth-1)
			if !ok {
				return nil, false
			}
			found = append(found, below...)
		}
	}
	return found, true
}

// isIn reports whether agentry wrote the files in a folder: see [Is].
func isIn(files fs.FS, folder string) bool {
	for _, name := range []string{listName, ".agentry/inventory"} {
		info, err := fs.Stat(files, path.Join(folder, name))
		if err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Owned returns the paths of the files that an earlier render wrote to the folder.
func Owned(folder string) (map[string]bool, error) {
	listed, err := list(os.DirFS(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	owned := map[string]bool{}
	for p := range listed {
		owned[p] = true
	}
	return owned, err
}

// list reads the owned files, with their SHA-256 sums.
func list(folder fs.FS) (map[string]string, error) {
	text, err := fs.ReadFile(folder, listName)
	if err != nil {
		return nil, err
	}
	owned := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" { // an empty render
			continue
		}
		sum, p, _ := strings.Cut(line, "  ")
		if len(sum) != hex.EncodedLen(sha256.Size) || !isRendered(p) {
			return nil, fmt.Errorf(
				"%s has the line %q, which agentry does not write: remove the list, or name another folder", listName,
				line)
		}
		owned[p] = sum
	}
	return owned, nil
}

// isRendered reports whether a render can write a file with this name: a manifest, or a text for reviewers beside it.
func isRendered(p string) bool {
	hidden := func(part string) bool { return strings.HasPrefix(part, ".") }
	return filepath.IsLocal(filepath.FromSlash(p)) && path.Clean(p) == p &&
		!slices.ContainsFunc(strings.Split(p, "/"), hidden) &&
		slices.ContainsFunc([]string{".yaml", ".agent.yml.txt", ".config.alloy.txt"}, func(end string) bool {
			return strings.HasSuffix(p, end)
		})
}

// Write makes the folder contain exactly the files, and those files of the earlier render for which keep returns true.
// It returns a [ForeignError] if a file that it does not own is in the way.
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
	owned  map[string]string // the files in the list at the start, with their sums
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
	// Listing both sets first keeps all files owned if the rest is interrupted.
	sums := map[string]string{}
	maps.Copy(sums, w.owned)
	for _, f := range files {
		sums[f.Path] = sum(f.Data)
	}
	if err := w.writeList(slices.Concat(now, stale), sums); err != nil {
		return err
	}
	if err := w.commit(changed); err != nil {
		return err
	}
	if err := w.remove(stale); err != nil {
		return err
	}
	return w.writeList(now, sums)
}

// split returns the files that the list must contain after the write, and the files to remove.
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

// readList reads the owned files. Without a list the folder must be empty; a clone of an empty repository counts as
// empty.
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

// checkForeign refuses to overwrite files that are not owned.
func (w *writer) checkForeign(files []File) error {
	for _, f := range files {
		if _, owned := w.owned[f.Path]; owned {
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

// isThere reports whether a file already has its content.
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
	return 0o666 // minus the umask
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

// remove deletes files, and folders that become empty.
func (w *writer) remove(paths []string) error {
	for _, p := range paths {
		if !w.isOurs(p) {
			continue // somebody created or changed it
		}
		if err := w.root.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			if w.root.Remove(d) != nil {
				break // the folder is not empty
			}
		}
	}
	return nil
}

// isOurs reports whether a file is unchanged since it was written.
func (w *writer) isOurs(p string) bool {
	data, err := w.root.ReadFile(p)
	return err == nil && w.owned[p] == sum(data) || errors.Is(err, fs.ErrNotExist)
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// writeList writes the list in the format of sha256sum.
func (w *writer) writeList(paths []string, sums map[string]string) error {
	slices.Sort(paths)
	var text strings.Builder
	for _, p := range paths {
		text.WriteString(sums[p] + "  " + p + "\n")
	}
	if err := w.root.WriteFile(stagingName+"/list", []byte(text.String()), 0o666); err != nil {
		return err
	}
	return w.root.Rename(stagingName+"/list", listName)
}
