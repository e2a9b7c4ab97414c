package source

import (
	"context"
	"errors"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Base is a source at the commit that the output was last rendered from, as far as it differs
// from the source at its present commit, the head.
type Base struct {
	id, head plumbing.Hash
	Commit   *object.Commit          // nil when it cannot be had
	Differs  map[string]bool         // the paths at which the two differ
	Files    map[string]*File        // what the base has at these
	objects  map[manifest.ID][]Found // what these define
}

// Found is an object and the file that defines it.
type Found struct {
	Object *manifest.Object
	File   *File
}

// read parses what differs. Files that are parsed already are taken over.
func (b *Base) read(src *Source, head plumbing.Hash, opts manifest.Options, old *Base) error {
	changes, _, err := src.diff(b.Commit.Tree, head)
	if err != nil {
		return err
	}
	var fresh []*File
	for _, c := range changes {
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
	if err := src.parse(fresh, opts); err != nil {
		return err
	}
	for _, f := range b.Files {
		for _, o := range f.Result.Objects {
			b.objects[o.ID] = append(b.objects[o.ID], Found{o, f})
		}
	}
	return nil
}

// HasCommit brings an older commit into the cache and reports whether a new clone could have it.
func (s *Source) HasCommit(ctx context.Context, head, id plumbing.Hash) (bool, error) {
	rd := s.Repo.Reader()
	defer rd.Close()
	cached := rd.Has(id)
	old := repo.Ref{Commit: id.String(), Branch: s.Ref.Branch}
	// With the head, lest a cache that is cloned anew for the old commit be without it.
	if _, err := s.Repo.Fetch(ctx, repo.Ref{Commit: head.String(), Branch: s.Ref.Branch}, old); err != nil || !cached {
		return err == nil, err
	}
	if known, err := isAncestor(rd, id, head); known || err != nil {
		return known, err
	}
	return s.Repo.HasCommit(ctx, old)
}

// isAncestor looks for a commit in what is cached of another's history.
func isAncestor(rd *object.Reader, id, of plumbing.Hash) (bool, error) {
	seen := map[plumbing.Hash]bool{of: true}
	for next := []plumbing.Hash{of}; len(next) > 0; next = next[1:] {
		if next[0] == id {
			return true, nil
		}
		c, err := rd.Commit(next[0])
		if errors.Is(err, object.ErrNotFound) {
			continue // the end of a shallow history
		}
		if err != nil {
			return false, err
		}
		for _, parent := range c.Parents {
			if !seen[parent] {
				seen[parent] = true
				next = append(next, parent)
			}
		}
	}
	return false, nil
}

// missingCommits are the commits that a source could not give when it was at its head. They are
// not asked for again before it moves.
type missingCommits struct {
	head plumbing.Hash
	ids  map[plumbing.Hash]bool
}

// IsAway reports whether the source could not give a commit before, at the same head.
func (s *Source) IsAway(head, id plumbing.Hash) bool {
	if s.away.head != head {
		s.away = missingCommits{head: head, ids: map[plumbing.Hash]bool{}}
	}
	return s.away.ids[id]
}

// SetAway remembers that the source cannot give a commit.
func (s *Source) SetAway(id plumbing.Hash) { s.away.ids[id] = true }

// ReadBase reads the base of a source, of which nothing is known but what differs from the head:
// everything else is the head's. It is kept until one of the two moves. Get gives the commit of the
// base; nil when it cannot be had.
func (s *Source) ReadBase(id plumbing.Hash, head *object.Commit, opts manifest.Options, get func() (*object.Commit, error)) (*Base, error) {
	old := s.base
	if old != nil && old.id == id && old.head == head.Hash {
		return old, nil
	}
	b := &Base{id: id, head: head.Hash, Differs: map[string]bool{}, Files: map[string]*File{}, objects: map[manifest.ID][]Found{}}
	var err error
	if !id.IsZero() {
		b.Commit, err = get()
	}
	if err == nil && b.Commit != nil {
		err = b.read(s, head.Tree, opts, old)
	}
	if err != nil {
		return nil, err
	}
	s.base = b
	return b, nil
}

// Definitions are the documents of the base that define an object. Files that are what they
// were are the head's.
func (b *Base) Definitions(id manifest.ID, head *manifest.Set, src *Source) []Found {
	out := slices.Clone(b.objects[id])
	now := []*manifest.Object{head.Get(id)}
	for _, group := range head.Duplicates() {
		if group[0].ID == id {
			now = group
		}
	}
	for _, o := range now {
		if o == nil || b.Differs[o.File()] {
			continue
		}
		if f := src.Input.Files[o.File()]; f != nil && slices.Contains(f.Result.Objects, o) {
			out = append(out, Found{o, f})
		}
	}
	return out
}

// Below reports whether the base has a file below a path that the head has not. Of one that it
// has not either nobody can tell what is missed.
func (b *Base) Below(dir string) bool {
	for name := range b.Files {
		if pipeline.Within(dir, name) {
			return true
		}
	}
	return false
}

// Defines reports whether a file that differs now defined an object, well or badly.
func (b *Base) Defines(id manifest.ID) bool {
	for _, f := range b.Files {
		if slices.Contains(f.Result.Invalid, id) {
			return true
		}
	}
	return len(b.objects[id]) > 0
}
