package repobrowser

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/explainers"
	"github.com/agentry-dev/agentry/internal/outdir"
)

// Limits of the comparison of one commit.
const (
	maxComparedUnits = 1000
	maxComparedFiles = 20_000
	maxComparedBytes = 32 << 20
	maxSkipped       = 20 // that are named
)

// Change has the changes that a commit makes to an output branch.
type Change struct {
	Commit
	// Difference is the shortened difference.
	Difference *difference.Difference
	// Skipped are units that are not compared because they are too large or cannot be read; Others counts those that
	// are not named.
	Skipped []string
	Others  int
}

// Change returns the changes of a commit. While they take long to compute, the refusal has the status 202: ask again
// later.
func (s *Store) Change(pipeline, commit string) (*Change, *explainers.Refusal) {
	v, refused := s.open(pipeline)
	if refused != nil {
		return nil, refused
	}
	out, refused := v.output()
	if refused != nil {
		v.close()
		return nil, refused
	}
	c, err := out.find(commit)
	switch {
	case err != nil:
		refused = unreadable(err)
	case c == nil:
		refused = &explainers.Refusal{
			Status:  http.StatusNotFound,
			Message: "the commit is not among the latest commits of the output branch in the cache",
			Hint:    "read it at the forge, or compare it in a clone: agentry diff COMMIT~..COMMIT",
		}
	case c.Oldest:
		refused = &explainers.Refusal{
			Status: http.StatusNotFound, Message: "the previous commit is no longer in the cache, so " +
				"nothing can be compared",
			Hint: "run agentry diff " + c.ID[:12] + "~.." + c.ID[:12] + " in a clone of the repository",
		}
	}
	if refused != nil {
		v.close()
		return nil, refused
	}
	return s.changes.get(key{pipeline, commit}, func() (*Change, error) {
		defer v.close()
		return out.compare(c)
	}, v.close)
}

// find returns a commit in the history, or nil.
func (o *output) find(id string) (*Commit, error) {
	h, err := o.history(MaxCommits)
	if i := slices.IndexFunc(h.Commits, func(c Commit) bool { return c.ID == id }); i >= 0 {
		return &h.Commits[i], err
	}
	return nil, err
}

// compare compares the units of a commit with the units of the previous commit. Small units come first, so that one
// large unit does not displace others.
func (o *output) compare(c *Commit) (*Change, error) {
	before, err := o.units(c.Parent)
	if err != nil {
		return nil, err
	}
	after, err := o.units(c.ID)
	if err != nil {
		return nil, err
	}
	changed := slices.DeleteFunc(slices.Sorted(maps.Keys(union(before, after))), func(name string) bool {
		return before[name] == after[name]
	})
	sizes := map[string]size{}
	for _, name := range changed {
		for _, folder := range [...]plumbing.Hash{before[name], after[name]} {
			n, err := o.sizeOf(folder)
			if err != nil {
				return nil, err
			}
			sizes[name] = sizes[name].plus(n)
		}
	}
	slices.SortStableFunc(changed, func(a, b string) int { return cmp.Compare(sizes[a].bytes, sizes[b].bytes) })
	out, all := &Change{Commit: *c}, size{}
	var old, now []difference.Manifest
	for i, name := range changed {
		if all = all.plus(sizes[name]); i == maxComparedUnits || all.bytes > maxComparedBytes ||
			all.files > maxComparedFiles {
			out.skip(changed[i:]...)
			break
		}
		b, errBefore := o.manifests(name, before[name])
		a, errAfter := o.manifests(name, after[name])
		if errBefore != nil || errAfter != nil {
			out.skip(name)
			continue
		}
		old, now = append(old, b...), append(now, a...)
	}
	pairs := difference.Match(old, now)
	for i := range pairs {
		pairs[i] = plan.Redact(pairs[i])
	}
	out.Difference = difference.Compare(pairs).Shorten()
	return out, nil
}

// skip records units that are not compared.
func (c *Change) skip(names ...string) {
	for _, name := range names {
		if len(c.Skipped) == maxSkipped {
			c.Others++
			continue
		}
		c.Skipped = append(c.Skipped, name)
	}
}

func union(a, b map[string]plumbing.Hash) map[string]plumbing.Hash {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// units returns the folders of the units in a commit, by name. An empty commit has none.
func (o *output) units(commit string) (map[string]plumbing.Hash, error) {
	out := map[string]plumbing.Hash{}
	if commit == "" {
		return out, nil
	}
	b, err := branch.Read(o.Reader, plumbing.NewHash(commit), o.path)
	if err == nil {
		err = b.Open(o.Reader, &branch.Cache{})
	}
	if err != nil {
		return nil, err
	}
	for name, u := range b.Units {
		if !u.Dir.IsZero() {
			out[name] = u.Dir
		}
	}
	return out, nil
}

// size is the amount of data to read.
type size struct {
	files int
	bytes int64
}

func (s size) plus(other size) size { return size{s.files + other.files, s.bytes + other.bytes} }

func (o *output) sizeOf(folder plumbing.Hash) (out size, err error) {
	files, err := o.Tree(folder)
	for _, f := range files {
		if err != nil || !f.Mode.IsFile() {
			continue
		}
		var n int64
		n, err = o.BlobSize(f.Hash)
		out = out.plus(size{1, n})
	}
	return out, err
}

// errForeign means that a unit's folder has a file that agentry did not write.
var errForeign = errors.New("the folder has a file that agentry did not write")

// manifests returns the objects in the folder of a unit.
func (o *output) manifests(unit string, folder plumbing.Hash) (out []difference.Manifest, err error) {
	units, err := outdir.Units(flat{o.Files(folder)})
	if err != nil || len(units) > 1 {
		return nil, errors.Join(err, errForeign)
	}
	for _, u := range units {
		for _, f := range u.Files {
			out = append(out, difference.Manifest{Unit: unit, ID: f.Object, Version: f.Version(), Masked: f.Masked})
		}
	}
	return out, nil
}

// flat is a folder without its subfolders, except the inventory's.
type flat struct{ *object.Files }

// ReadDir implements [fs.ReadDirFS].
func (f flat) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := f.Files.ReadDir(name)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", path.Base(name), err)
	}
	return slices.DeleteFunc(list, fs.DirEntry.IsDir), nil
}
