package source

import (
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Base is a source at the commit that the output was last rendered from. It has only the differences from the source's
// current commit, the head.
type Base struct {
	ids      []plumbing.Hash // base and head commits of the source and of the sources mounted in it
	at, head trees
	Commit   *object.Commit // nil if it is not available
	// Incomplete means that a chart, or the commit of another source, that the output was rendered from is not
	// available any more, so the objects from it are unknown.
	Incomplete bool
	charts     string                  // the state of the versions of charts
	Differs    map[string]bool         // the paths that differ between base and head
	Files      map[string]*File        // the base's files at these paths
	objects    map[manifest.ID][]Found // the objects that these files define, without unknown fields
}

// Found is an object with the file that defines it.
type Found struct {
	Object *manifest.Object
	File   *File
}

// read parses the files that differ. It reuses parsed files of old.
func (b *Base) read(pass *budget.Pass, src *Source, opts manifest.Options, old *Base) error {
	d, err := src.diff(pass, b.at, b.head, src.Charts.Rendered(), opts)
	if err != nil {
		return err
	}
	var fresh []*File
	for _, c := range d.changes {
		b.Differs[c.Path] = true
		if c.Old == (object.Entry{}) {
			continue
		}
		f := src.File(c.Path, c.Old)
		if old != nil && old.Files[c.Path] != nil && old.Files[c.Path].Blob == f.Blob {
			f = old.Files[c.Path]
		} else {
			fresh = append(fresh, f)
		}
		b.Files[c.Path] = f
	}
	if err := src.parse(pass, fresh, opts); err != nil {
		return err
	}
	if err := b.rebuild(d, opts, old); err != nil {
		return err
	}
	for _, f := range b.Files {
		for _, o := range f.Result.IgnoreUnknownFields(nil).Objects {
			b.objects[o.ID] = append(b.objects[o.ID], Found{o, f})
		}
	}
	return nil
}

// isSettled reports whether reading the same commits again would give the same base.
func (b *Base) isSettled() bool {
	for _, f := range b.Files {
		if !f.isSettled() {
			return false
		}
	}
	return true
}

// readBase reads the base of a source, but only the files that differ from the head. It caches the result until base or
// head of this source or of one mounted in it move. get returns the base commit of a source, or nil if it is not
// available.
func (h *History) readBase(i int, get func(i int) (*object.Commit, error)) (*Base, error) {
	s := h.Sources[i]
	old, charts, head := s.base, s.Charts.State(), s.trees(h.Sources, h.Commits)
	needed := append(h.Mounted(i), i)
	var ids []plumbing.Hash
	for _, n := range needed {
		ids = append(ids, h.Bases[n], h.Commits[n].Hash) // which old commits are available depends on the head
	}
	if old != nil && slices.Equal(old.ids, ids) && old.head.same(head) && old.charts == charts && old.isSettled() {
		return old, nil
	}
	b := &Base{ids: ids, head: head, charts: charts, Differs: map[string]bool{}, Files: map[string]*File{},
		objects: map[manifest.ID][]Found{}}
	commits := make([]*object.Commit, len(h.Sources))
	for _, n := range needed {
		if h.Bases[n].IsZero() {
			continue
		}
		var err error
		if commits[n], err = get(n); err != nil {
			return nil, err
		}
		b.Incomplete = b.Incomplete || n != i && commits[n] == nil
	}
	if b.Commit = commits[i]; b.Commit != nil {
		b.at = s.trees(h.Sources, commits)
		if err := b.read(h.Budget, s, s.options(h.Parse), old); err != nil {
			return nil, err
		}
	}
	s.base = b
	return b, nil
}

// Definitions returns the definitions of an object at the base. Files that do not differ are taken from the head. It
// ignores unknown fields, because the objects were rendered without them.
func (b *Base) Definitions(id manifest.ID, head *manifest.Set, src *Source) []Found {
	out := slices.Clone(b.objects[id])
	now := head.DuplicatesOf(id)
	if o := head.Find(id); o != nil && len(now) == 0 {
		now = []*manifest.Object{o}
	} else if o == nil && len(now) == 0 {
		now = head.LeftOutAs(id)
	}
	for _, o := range now {
		if b.Differs[o.File()] {
			continue
		}
		if f := src.Input.Files[o.File()]; f != nil && f.Result.IsUsable(o) {
			out = append(out, Found{o, f})
		}
	}
	return out
}

// Below reports whether the base has a file below a path that is missing from the head. If the path is missing from
// both, it is unknown which files are missing.
func (b *Base) Below(dir string) bool {
	for name := range b.Files {
		if pipeline.Within(dir, name) {
			return true
		}
	}
	return false
}

// Defines reports whether a file that differs defined an object at the base, valid or not.
func (b *Base) Defines(id manifest.ID) bool {
	for _, f := range b.Files {
		if slices.Contains(f.Result.Invalid, id) {
			return true
		}
	}
	return len(b.objects[id]) > 0
}
