package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// History reads the sources at older commits. It is valid for one pass.
type History struct {
	*Inputs
	Bases  []plumbing.Hash  // the commits that the output was last rendered from, zero if unknown
	Parse  manifest.Options // of manifests
	Online Online
}

// Online calls a function that waits for the network. The error is [ErrNoAnswer] if it takes longer than the
// share of the pass's time that one source has.
type Online func(func(context.Context) error) error

// ErrNoAnswer means that a source did not answer in time.
var ErrNoAnswer = errors.New("no answer in time")

// Base returns a source at its base. The result is cached until the base or the head moves.
func (h *History) Base(i int) (*Base, error) {
	src, id := h.Sources[i], h.Bases[i]
	b, err := src.readBase(id, h.Commits[i], h.Parse, func() (*object.Commit, error) { return h.Commit(i, id) })
	if err != nil {
		return nil, fmt.Errorf("read %s of %s, which was rendered last: %w", id, src.Repo.URL(), err)
	}
	return b, nil
}

// Commit returns a commit that is older than the head of a source, or nil if it cannot be had any more, for
// example after a forced push. The result does not depend on the cache: the commit is in the history of the
// head, or the remote has it.
func (h *History) Commit(i int, id plumbing.Hash) (*object.Commit, error) {
	src, head := h.Sources[i], h.Commits[i].Hash
	if src.isAway(head, id) {
		return nil, nil
	}
	var ok bool
	err := h.Online(func(ctx context.Context) (err error) {
		ok, err = src.hasCommit(ctx, head, id)
		return err
	})
	if errors.Is(err, ErrNoAnswer) || errors.Is(err, transport.ErrRefNotFound) || errors.Is(err, limit.ErrTooLarge) || err == nil && !ok {
		src.setAway(id)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return src.commit(id)
}

// File returns a file of a source at an older commit, or nil if the file cannot be had, or is not that blob.
func (h *History) File(i int, commit plumbing.Hash, name, blob string) (*File, error) {
	src := h.Sources[i]
	c, err := h.Commit(i, commit)
	if c == nil || err != nil {
		return nil, err
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
	return f, src.ParseFile(rd, f, h.Parse)
}
