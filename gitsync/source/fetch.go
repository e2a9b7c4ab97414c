package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
)

// Tip is the commit of a source's ref, or the error if it is unknown.
type Tip struct {
	Commit plumbing.Hash
	Err    error
}

// Fetch fetches the refs of the sources in one repository, and other refs of it, in one request. If a ref does not
// exist, it fetches the refs of the sources one by one. The tips are in the order of the refs. An error means that the
// other refs could not be fetched.
func Fetch(ctx context.Context, r *repo.Repo, since time.Time, refs, others []repo.Ref) ([]Tip, []repo.Tip, error) {
	tips := make([]Tip, len(refs))
	all, err := r.FetchSince(ctx, since, append(append([]repo.Ref{}, refs...), others...)...)
	switch {
	case err == nil:
		for i := range refs {
			tips[i].Commit = all[i].Commit
		}
		return tips, all[len(refs):], nil
	case errors.Is(err, transport.ErrRefNotFound), errors.Is(err, repo.ErrEmptyRepository):
	case len(others) > 0:
		return nil, nil, err
	default:
		for i := range tips {
			tips[i].Err = err
		}
		return tips, nil, nil
	}
	for i, ref := range refs {
		one, err := r.FetchSince(ctx, since, ref)
		if tips[i].Err = err; err == nil {
			tips[i].Commit = one[0].Commit
		}
	}
	if len(others) == 0 {
		return tips, nil, nil
	}
	all, err = r.FetchSince(ctx, since, others...)
	return tips, all, err
}

// Rendered has the commits of a source that were rendered before.
type Rendered struct {
	Base     plumbing.Hash   // the output was last rendered from this commit; zero if unknown
	Proposed []plumbing.Hash // the current proposal was rendered from these
}

// Choose returns the commit of a source to render: the tip, if it could be fetched and the source accepts its
// signature. Otherwise it is the commit that was rendered last, if that is still available, with a diagnostic that says
// why.
func (s *Source) Choose(ctx context.Context, since time.Time, tip Tip, last Rendered) (*object.Commit, *diag.Diagnostic,
	error) {
	if tip.Err == nil && s.Verify != nil {
		tip.Err = s.Verify.Accept(s.Repo, tip.Commit)
	}
	var stale *diag.Diagnostic
	if tip.Err != nil {
		var err error
		if tip.Commit, stale, err = s.fallBack(ctx, since, tip, last); err != nil {
			return nil, nil, err
		}
	}
	commit, err := s.commit(tip.Commit)
	if err == nil {
		s.head, s.tags = commit.Hash, slices.Concat(s.Tags, s.Repo.TagsAt(commit.Hash))
	}
	return commit, stale, err
}

// fallBack returns the best commit of a source that was rendered before and is still available. A source with keys must
// also trust it, by the history of the tip or, if that is unknown, of the last commit that this process accepted. If
// there is no such commit, it returns the error of the tip.
func (s *Source) fallBack(ctx context.Context, since time.Time, tip Tip, last Rendered) (plumbing.Hash,
	*diag.Diagnostic, error) {
	cause, head := tip.Err, cmp.Or(tip.Commit, s.head)
	stale := diag.Diagnostic{
		Severity: diag.Error, Code: diag.SourceUnreachable, File: s.Repo.URL(),
		Hint: cmp.Or(pipeline.Remedy(cause), "check the URL, the ref, the network and the credentials"),
	}
	refused, isRefused := errors.AsType[*signature.Refused](cause)
	if isRefused {
		stale.Code, stale.Hint = refused.Code, refused.Hint
	}
	for _, id := range append(append([]plumbing.Hash{}, last.Proposed...), last.Base) {
		if id.IsZero() {
			continue
		}
		if _, err := s.Repo.FetchSince(ctx, since, repo.Ref{Commit: id.String()}); err != nil {
			continue
		}
		if s.Verify != nil {
			if trusted, err := s.trusts(ctx, id, head); !trusted || err != nil {
				continue
			}
		}
		stale.Message = cause.Error() + "; the pass goes on with commit " + pipeline.ShortID(id.String()) +
			", which was rendered last"
		return id, &stale, nil
	}
	if isRefused {
		cause = fmt.Errorf("%w; no accepted commit was rendered before: %s", cause, refused.Hint)
	}
	return plumbing.ZeroHash, nil, cause
}

// commit reads a commit from the cache.
func (s *Source) commit(id plumbing.Hash) (*object.Commit, error) {
	rd := s.Repo.Reader()
	defer rd.Close()
	c, err := rd.Commit(id)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", id, s.Repo.URL(), err)
	}
	return c, nil
}
