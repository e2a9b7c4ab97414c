package gitsync

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// base is a source at the commit that the output was last rendered from, as far as it differs
// from the source at its present commit, the head.
type base struct {
	id, head plumbing.Hash
	commit   *repo.Commit            // nil when it cannot be had
	differs  map[string]bool         // the paths at which the two differ
	files    map[string]*inputFile   // what the base has at these
	objects  map[manifest.ID][]found // what these define
}

// found is an object and the file that defines it.
type found struct {
	object *manifest.Object
	file   *inputFile
}

// base reads the base of a source, of which nothing is known but what differs from the head:
// everything else is the head's. It is kept until one of the two moves.
func (p *pass) base(ctx context.Context, i int) (*base, error) {
	src, id, head := p.sources[i], p.baseOf(i), p.commits[i]
	old := src.base
	if old != nil && old.id == id && old.head == head.Hash {
		return old, nil
	}
	b := &base{id: id, head: head.Hash, differs: map[string]bool{}, files: map[string]*inputFile{}, objects: map[manifest.ID][]found{}}
	var err error
	if !id.IsZero() {
		b.commit, err = p.oldCommit(ctx, i, id)
	}
	if err == nil && b.commit != nil {
		err = b.read(src, head.Tree, p.pipeline.Spec.ParseOptions(), old)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s, which was rendered last: %w", id, src.repo.URL(), err)
	}
	src.base = b
	return b, nil
}

// baseOf is the commit of a source that the output was last rendered from; zero when that is
// not known.
func (p *pass) baseOf(i int) plumbing.Hash {
	if p.branch.Inventory == nil {
		return plumbing.ZeroHash
	}
	src := p.sources[i]
	for _, b := range p.branch.Inventory.Sources {
		if b.URL == src.repo.URL() && b.Ref == src.Ref.RepoRef().String() {
			return plumbing.NewHash(b.Commit)
		}
	}
	return plumbing.ZeroHash
}

// read parses what differs. Files that are parsed already are taken over.
func (b *base) read(src *source, head plumbing.Hash, opts manifest.Options, old *base) error {
	changes, _, err := src.diff(b.commit.Tree, head)
	if err != nil {
		return err
	}
	var fresh []*inputFile
	for _, c := range changes {
		b.differs[c.Path] = true
		if c.Old == (repo.Entry{}) {
			continue
		}
		f := src.file(c.Path, c.Old)
		if old != nil && old.files[c.Path] != nil && old.files[c.Path].blob == f.blob {
			f = old.files[c.Path]
		} else {
			fresh = append(fresh, f)
		}
		b.files[c.Path] = f
	}
	if err := src.parse(fresh, opts); err != nil {
		return err
	}
	for _, f := range b.files {
		for _, o := range f.result.Objects {
			b.objects[o.ID] = append(b.objects[o.ID], found{o, f})
		}
	}
	return nil
}

// oldCommit reads a commit of a source that is older than its head; nil when it cannot be had
// any more, as after a forced push. Whether it can does not depend on what the cache happens to
// hold: it is in the history of the head, or the source gives it.
func (p *pass) oldCommit(ctx context.Context, i int, id plumbing.Hash) (*repo.Commit, error) {
	src, head := p.sources[i], p.commits[i].Hash
	if src.away.head != head {
		src.away = lostCommits{head: head, ids: map[plumbing.Hash]bool{}}
	}
	if src.away.ids[id] {
		return nil, nil
	}
	share, cancel := p.share(ctx)
	defer cancel()
	var ok bool
	err := p.outside(ctx, func() (err error) {
		ok, err = src.gives(share, head, id)
		return err
	})
	timedOut := share.Err() != nil && ctx.Err() == nil
	if timedOut || errors.Is(err, repo.ErrRefNotFound) || errors.Is(err, repo.ErrTooLarge) || err == nil && !ok {
		src.away.ids[id] = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readCommit(src.repo, id)
}

// gives brings an older commit into the cache and reports whether a new clone could have it.
func (s *source) gives(ctx context.Context, head, id plumbing.Hash) (bool, error) {
	rd := s.repo.Reader()
	defer rd.Close()
	cached := rd.Has(id)
	old := repo.Ref{Commit: id.String(), Branch: s.Ref.Branch}
	// With the head, lest a cache that is cloned anew for the old commit be without it.
	if _, err := s.repo.Fetch(ctx, repo.Ref{Commit: head.String(), Branch: s.Ref.Branch}, old); err != nil || !cached {
		return err == nil, err
	}
	if known, err := isAncestor(rd, id, head); known || err != nil {
		return known, err
	}
	return s.repo.HasCommit(ctx, old)
}

// isAncestor looks for a commit in what is cached of another's history.
func isAncestor(rd *repo.Reader, id, of plumbing.Hash) (bool, error) {
	seen := map[plumbing.Hash]bool{of: true}
	for next := []plumbing.Hash{of}; len(next) > 0; next = next[1:] {
		if next[0] == id {
			return true, nil
		}
		c, err := rd.Commit(next[0])
		if errors.Is(err, repo.ErrObjectNotFound) {
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

// commitRef names a commit for people.
func commitRef(c *repo.Commit) branch.CommitRef {
	return branch.CommitRef{Commit: c.Hash.String(), Date: foreigntext.SafeDate(c.Committer.When).UTC()}
}

// lostCommits are the commits that a source could not give when it was at its head. They are
// not asked for again before it moves.
type lostCommits struct {
	head plumbing.Hash
	ids  map[plumbing.Hash]bool
}
