package gitsync

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// SourceRefs looks for a revision in the repositories of the sources: a branch, a tag, a full name such as
// refs/pull/7/head, or a full commit id. It returns a value for [Options.SourceRefs], with the sources whose
// repositories have it. Of sources at several refs of one repository, only those move that it is of.
func (s *Syncer) SourceRefs(ctx context.Context, revision string) (map[int]repo.Ref, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout,
		fmt.Errorf("no answer within %s", s.options.Timeout))
	defer cancel()
	known, heads := map[*repo.Repo]*repo.Ref{}, map[int]repo.Ref{}
	for i, src := range s.sources.List {
		found, asked := known[src.Repo]
		if !asked {
			var err error
			if found, err = find(ctx, src.Repo, revision, src.Ref.Branch); err != nil {
				return nil, fmt.Errorf("look for %s: %w", revision, err)
			}
			known[src.Repo] = found
		}
		if found != nil && s.isOf(i, revision) {
			heads[i] = *found
		}
	}
	return heads, nil
}

// isOf reports whether a revision is of the ref of a source: of several refs of a repository it is of the branch with
// its name, else of the first.
func (s *Syncer) isOf(i int, revision string) bool {
	var first *source.Source
	for _, src := range s.sources.List {
		switch {
		case src.Repo != s.sources.List[i].Repo:
		case src.Ref.Branch == revision:
			return s.sources.List[i].Ref.Branch == revision
		case first == nil:
			first = src
		}
	}
	return s.sources.List[i].Ref == first.Ref
}

// find returns the ref that a revision means in a repository, or nil. A commit is searched in a branch, if the remote
// does not send commits that are asked for by their ids.
func find(ctx context.Context, r *repo.Repo, revision, branch string) (*repo.Ref, error) {
	if plumbing.IsHash(revision) {
		ref := repo.Ref{Commit: revision, Branch: branch}
		found, err := r.HasCommit(ctx, ref)
		if err != nil || !found {
			return nil, ignoreMissing(err)
		}
		return &ref, nil
	}
	refs, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{"refs/heads/" + revision, "refs/tags/" + revision}
	if strings.HasPrefix(revision, "refs/") {
		names = []string{revision}
	}
	for _, name := range names {
		if refs.Tip(name).Exists() {
			return &repo.Ref{Name: name}, nil
		}
	}
	return nil, nil
}

// ignoreMissing returns no error for a ref that is not there.
func ignoreMissing(err error) error {
	if errors.Is(err, transport.ErrRefNotFound) || errors.Is(err, repo.ErrEmptyRepository) {
		return nil
	}
	return err
}
