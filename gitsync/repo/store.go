package repo

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

// store is a bare repository on disk in the form that git reads too: packs, the
// file "shallow" and the file "packed-refs". Its methods that write are called
// with the cache locked.
type store struct {
	dir string
}

func (s store) packDir() string { return filepath.Join(s.dir, "objects", "pack") }

// create makes an empty repository. origin is for the people who look into it.
func (s store) create(origin string) error {
	for _, d := range []string{s.packDir(), filepath.Join(s.dir, "refs")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	config := fmt.Sprintf("[core]\n\tbare = true\n[remote \"origin\"]\n\turl = %q\n", origin)
	return errors.Join(
		writeFile(filepath.Join(s.dir, "config"), []byte(config)),
		writeFile(filepath.Join(s.dir, "HEAD"), []byte("ref: refs/heads/none\n")),
	)
}

// packs lists the packs by name, and removes what a process that died has left.
func (s store) packs() ([]string, error) {
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
			_ = os.Remove(filepath.Join(s.packDir(), e.Name())) // is in nobody's way
		}
	}
	return names, nil
}

// shallow is the set of commits whose parents are not here.
func (s store) shallow() (map[plumbing.Hash]struct{}, error) {
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

func (s store) setShallow(commits map[plumbing.Hash]struct{}) error {
	name := filepath.Join(s.dir, "shallow")
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

// tips are the commits that were fetched completely, by [tipName].
func (s store) tips() (map[string]plumbing.Hash, error) {
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

func (s store) setTips(tips map[string]plumbing.Hash) error {
	var buf bytes.Buffer
	buf.WriteString("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(tips)) {
		fmt.Fprintf(&buf, "%s %s\n", tips[name], name)
	}
	return writeFile(filepath.Join(s.dir, "packed-refs"), buf.Bytes())
}

func (s store) eachLine(file string, f func(string) error) error {
	content, err := os.ReadFile(filepath.Join(s.dir, file))
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
