package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// History reads the sources at older commits. It is valid for one pass.
type History struct {
	*Inputs
	Bases      []plumbing.Hash  // the commits that the output was last rendered from; zero if unknown
	Parse      manifest.Options // of manifests
	Budget     *budget.Pass
	UseNetwork UseNetwork
}

// UseNetwork calls a function that uses the network. The error is [ErrNoAnswer] if it takes longer than one source's
// share of the pass's time.
type UseNetwork func(func(context.Context) error) error

// ErrNoAnswer means that a source did not answer in time.
var ErrNoAnswer = errors.New("no answer in time")

// Base returns a source at its base. It caches the result until the base or the head moves.
func (h *History) Base(i int) (*Base, error) {
	b, err := h.readBase(i, func(n int) (*object.Commit, error) { return h.Commit(n, h.Bases[n]) })
	if err != nil {
		return nil, fmt.Errorf("read %s of %s, which was rendered last: %w", h.Bases[i], h.Sources[i].Repo.URL(), err)
	}
	return b, nil
}

// ObjectsAtBase returns the objects at the bases of all sources, or nil if a base is not available any more.
func (h *History) ObjectsAtBase() (*manifest.Set, error) {
	var results []manifest.Result
	for i, src := range h.Sources {
		b, err := h.Base(i)
		if err != nil || b.Commit == nil || b.Incomplete {
			return nil, err
		}
		files := maps.Clone(src.Input.Files)
		maps.DeleteFunc(files, func(name string, _ *File) bool { return b.Differs[name] })
		maps.Copy(files, b.Files)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			results = append(results, files[name].Result)
		}
	}
	return manifest.NewSet(results...), nil
}

// Commit returns a commit older than the head of a source, or nil if it is no longer available, for example after a
// forced push. The result does not depend on the cache: the commit is in the history of the head, or the remote has it.
// A source with keys must also trust the commit.
func (h *History) Commit(i int, id plumbing.Hash) (*object.Commit, error) {
	src, head := h.Sources[i], h.Commits[i].Hash
	known := src.olderThan(head)
	if _, ok := known[id]; !ok {
		err := h.UseNetwork(func(ctx context.Context) (err error) {
			known[id], err = src.hasCommit(ctx, head, id)
			return err
		})
		if errors.Is(err, ErrNoAnswer) || errors.Is(err, transport.ErrRefNotFound) ||
			errors.Is(err, limit.ErrTooLarge) || err != nil && src.IsLocal {
			known[id], err = false, nil
		}
		if err != nil {
			delete(known, id)
			return nil, err
		}
	}
	if !known[id] {
		return nil, nil
	}
	return src.commit(id)
}

// olderCommits remembers whether older commits are available, until the head moves.
type olderCommits struct {
	head plumbing.Hash
	ids  map[plumbing.Hash]bool
}

func (s *Source) olderThan(head plumbing.Hash) map[plumbing.Hash]bool {
	if s.older.head != head {
		s.older = olderCommits{head: head, ids: map[plumbing.Hash]bool{}}
	}
	return s.older.ids
}

// hasCommit fetches an older commit into the cache, and reports whether a new clone could also fetch it.
func (s *Source) hasCommit(ctx context.Context, head, id plumbing.Hash) (bool, error) {
	rd := s.Repo.Reader()
	defer rd.Close()
	cached := rd.Has(id)
	old := repo.Ref{Commit: id.String(), Branch: s.Ref.Branch}
	// Fetch the head too, because fetching the old commit may replace the cache by a new clone.
	_, err := s.Repo.Fetch(ctx, repo.Ref{Commit: head.String(), Branch: s.Ref.Branch}, old)
	if err != nil {
		return false, err
	}
	if s.Verify != nil {
		return s.trusts(ctx, id, head)
	}
	if !cached || s.IsLocal { // nothing is written, so other replicas need not find it
		return true, nil
	}
	if found, err := s.Repo.HasAncestor(id, head); found || err != nil {
		return found, err
	}
	return s.Repo.HasCommit(ctx, old)
}

// trusts reports whether a source with keys accepts a commit that only the output branch or a lock file names. Anyone
// who can write there could have chosen it, so it must be signed with a key and be in the history of the head.
func (s *Source) trusts(ctx context.Context, id, head plumbing.Hash) (bool, error) {
	if head.IsZero() || s.Verify.Accept(s.Repo, id) != nil {
		return false, nil
	}
	return s.Repo.IsAncestor(ctx, id, head)
}

// File returns a file of a source at an older commit, or nil if it is not available or has another blob. with returns
// the commits of other sources that the file was built with.
func (h *History) File(i int, commit plumbing.Hash, with func(n int) plumbing.Hash, name, blob string) (*File, error) {
	src := h.Sources[i]
	commits := make([]*object.Commit, len(h.Sources))
	for _, n := range append(h.Mounted(i), i) {
		id := commit
		if n != i {
			id = with(n)
		}
		if id.IsZero() {
			return nil, nil
		}
		var err error
		if commits[n], err = h.Commit(n, id); commits[n] == nil || err != nil {
			return nil, err
		}
	}
	c := commits[i]
	r, err := rootAt(src, h.Budget, src.trees(h.Sources, commits), name, src.options(h.Parse))
	if r != nil && r.Blob.String() != blob {
		return nil, err
	}
	if r != nil || err != nil {
		return r, err
	}
	rd := src.Repo.Reader()
	defer rd.Close()
	entry, err := rd.Lookup(c.Tree, name)
	if errors.Is(err, object.ErrPathNotFound) || err == nil && entry.Hash.String() != blob {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := src.File(name, entry)
	if err := src.parseFile(h.Budget, rd, f, src.options(h.Parse)); err != nil {
		return nil, err
	}
	return f, f.take(h.Budget)
}

// Mounted returns the indices of the sources that are mounted in source i.
func (h *History) Mounted(i int) []int {
	var out []int
	for n, of := range h.Sources {
		for _, mounted := range h.Sources[i].Mounts {
			if n != i && of == mounted {
				out = append(out, n)
			}
		}
	}
	return slices.Compact(out)
}
