// Package store is a bare repository on disk in a form that git can read too: packs, the file "shallow" and the
// file "packed-refs". There are no loose objects.
//
// A [Store] only names the folder; to write, its caller must hold a lock on the cache. A [Pack] is immutable, and
// many goroutines can read it at once.
package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// ErrCorrupt means that the repository on disk is damaged.
var ErrCorrupt = errors.New("cached repository is corrupt")

// Store is a bare repository in a folder. Methods that write must not run at the same time.
type Store struct {
	Dir string
}

func (s Store) packDir() string { return filepath.Join(s.Dir, "objects", "pack") }

// Create creates an empty repository. origin is the URL in its config file, for human readers.
func (s Store) Create(origin string) error {
	for _, d := range []string{s.packDir(), filepath.Join(s.Dir, "refs")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	config := fmt.Sprintf("[core]\n\tbare = true\n[remote \"origin\"]\n\turl = %q\n", origin)
	return errors.Join(
		writeFile(filepath.Join(s.Dir, "config"), []byte(config)),
		writeFile(filepath.Join(s.Dir, "HEAD"), []byte("ref: refs/heads/none\n")),
	)
}

// Packs returns the names of the packs. It removes temporary files that a killed process left.
func (s Store) Packs() ([]string, error) {
	entries, err := os.ReadDir(s.packDir())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".pack"); ok {
			names = append(names, name)
		}
		if strings.HasPrefix(e.Name(), "tmp_") {
			_ = os.Remove(filepath.Join(s.packDir(), e.Name())) // a leftover does no harm
		}
	}
	return names, nil
}

// Shallow returns the commits whose parents are not in the repository. A malformed file is [ErrCorrupt].
func (s Store) Shallow() (map[plumbing.Hash]struct{}, error) {
	out := map[plumbing.Hash]struct{}{}
	err := s.eachLine("shallow", func(line string) error {
		if !plumbing.IsHash(line) {
			return fmt.Errorf("%w: line of file shallow", ErrCorrupt)
		}
		out[plumbing.NewHash(line)] = struct{}{}
		return nil
	})
	return out, err
}

// SetShallow replaces the set of commits whose parents are not in the repository.
func (s Store) SetShallow(commits map[plumbing.Hash]struct{}) error {
	name := filepath.Join(s.Dir, "shallow")
	if len(commits) == 0 {
		return removeIfThere(name)
	}
	lines := make([]string, 0, len(commits))
	for h := range commits {
		lines = append(lines, h.String()+"\n")
	}
	slices.Sort(lines)
	return writeFile(name, []byte(strings.Join(lines, "")))
}

// Tips returns the completely fetched commits, by their refs in this repository. A malformed file is [ErrCorrupt].
func (s Store) Tips() (map[string]plumbing.Hash, error) {
	out := map[string]plumbing.Hash{}
	err := s.eachLine("packed-refs", func(line string) error {
		hash, name, ok := strings.Cut(line, " ")
		if strings.HasPrefix(line, "#") {
			return nil
		}
		if !ok || !plumbing.IsHash(hash) {
			return fmt.Errorf("%w: line of file packed-refs", ErrCorrupt)
		}
		out[name] = plumbing.NewHash(hash)
		return nil
	})
	return out, err
}

// completeFile has the names of the packs that there were when the tips were set, and the commits that were complete;
// or only damaged.
const (
	completeFile = "complete"
	damaged      = "damaged"
)

// Complete returns the commits that were complete when the tips were set, if all packs are there that there were. It is
// [ErrCorrupt] if a pack is known to be damaged.
func (s Store) Complete(packs []string) ([]plumbing.Hash, error) {
	var commits []plumbing.Hash
	isWhole := true
	err := s.eachLine(completeFile, func(line string) error {
		switch {
		case line == damaged:
			return fmt.Errorf("%w: a pack cannot be read", ErrCorrupt)
		case plumbing.IsHash(line):
			commits = append(commits, plumbing.NewHash(line))
		default:
			isWhole = isWhole && slices.Contains(packs, line)
		}
		return nil
	})
	if err != nil || !isWhole {
		return nil, err
	}
	return commits, nil
}

// MarkDamaged makes [Store.Complete] fail. It needs no lock.
func (s Store) MarkDamaged() error {
	return writeFile(filepath.Join(s.Dir, completeFile), []byte(damaged+"\n"))
}

// SetTips replaces the refs of this repository, and says which of their commits are known to be complete.
func (s Store) SetTips(tips map[string]plumbing.Hash, complete []plumbing.Hash) error {
	lines, err := s.Packs()
	if err != nil {
		return err
	}
	for _, h := range complete {
		lines = append(lines, h.String())
	}
	text := strings.Join(lines, "\n") + "\n"
	if err := writeFile(filepath.Join(s.Dir, completeFile), []byte(text)); err != nil {
		return err
	}
	var buf bytes.Buffer
	buf.WriteString("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(tips)) {
		fmt.Fprintf(&buf, "%s %s\n", tips[name], name)
	}
	return writeFile(filepath.Join(s.Dir, "packed-refs"), buf.Bytes())
}

func (s Store) eachLine(file string, f func(string) error) error {
	content, err := os.ReadFile(filepath.Join(s.Dir, file))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(content)) {
		if err := f(strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file atomically.
func writeFile(name string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), "tmp_")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	return errors.Join(err, removeIfThere(tmp.Name()))
}

func removeIfThere(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
