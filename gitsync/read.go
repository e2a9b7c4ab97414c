package gitsync

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// readInputs brings the parsed files of all sources up to their commits. Only blobs that
// are new are read and parsed.
func (p *pass) readInputs() error {
	p.report.Ignored = map[string]int{}
	for i, src := range p.sources {
		if err := src.Update(p.commits[i].Tree, p.pipeline.Spec.ParseOptions()); err != nil {
			return fmt.Errorf("read %s of %s: %w", p.commits[i].Hash, src.Repo.URL(), err)
		}
		for _, f := range src.Input.OddFiles() {
			p.report.Diags = append(p.report.Diags, f.Result.Diags...)
		}
		for kind, n := range src.Input.Ignored {
			p.report.Ignored[kind] += n
		}
		if err := p.missingPaths(i); err != nil {
			return err
		}
	}
	p.head = source.Objects(p.sources, p.memory.set)
	p.memory.set = p.head
	return nil
}

// missingPaths reports paths that hold nothing to read. One that is not there at all is
// more likely misspelt than emptied, so nothing counts as deleted on its account.
func (p *pass) missingPaths(i int) error {
	src := p.sources[i]
	for _, want := range src.Paths {
		want = path.Clean(want)
		if want == "." || src.Input.Below(want) {
			continue
		}
		rd := src.Repo.Reader()
		_, err := rd.Lookup(p.commits[i].Tree, want)
		rd.Close()
		const hint = "correct sources[].paths, or create the folder"
		switch {
		case err == nil:
			p.warn(diag.SourcePathMissing, want, hint, "holds no manifest in commit %s of %s", pipeline.ShortID(p.commits[i].Hash.String()), src.Repo.URL())
		case errors.Is(err, object.ErrPathNotFound):
			p.error(diag.SourcePathMissing, want, hint, "is not in commit %s of %s", pipeline.ShortID(p.commits[i].Hash.String()), src.Repo.URL())
			p.missing = append(p.missing, missing{i, want, p.report.Diags[len(p.report.Diags)-1]})
		default:
			return err
		}
	}
	return nil
}

// base reads the base of a source, of which nothing is known but what differs from the head:
// everything else is the head's. It is kept until one of the two moves.
func (p *pass) base(ctx context.Context, i int) (*source.Base, error) {
	src, id := p.sources[i], p.baseOf(i)
	b, err := src.ReadBase(id, p.commits[i], p.pipeline.Spec.ParseOptions(), func() (*object.Commit, error) { return p.oldCommit(ctx, i, id) })
	if err != nil {
		return nil, fmt.Errorf("read %s of %s, which was rendered last: %w", id, src.Repo.URL(), err)
	}
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
		if b.URL == src.Repo.URL() && b.Ref == src.Ref.RepoRef().String() {
			return plumbing.NewHash(b.Commit)
		}
	}
	return plumbing.ZeroHash
}

// oldCommit reads a commit of a source that is older than its head; nil when it cannot be had
// any more, as after a forced push. Whether it can does not depend on what the cache happens to
// hold: it is in the history of the head, or the source gives it.
func (p *pass) oldCommit(ctx context.Context, i int, id plumbing.Hash) (*object.Commit, error) {
	src, head := p.sources[i], p.commits[i].Hash
	if src.IsAway(head, id) {
		return nil, nil
	}
	share, cancel := p.share(ctx)
	defer cancel()
	var ok bool
	err := p.outside(ctx, func() (err error) {
		ok, err = src.HasCommit(share, head, id)
		return err
	})
	timedOut := share.Err() != nil && ctx.Err() == nil
	if timedOut || errors.Is(err, transport.ErrRefNotFound) || errors.Is(err, limit.ErrTooLarge) || err == nil && !ok {
		src.SetAway(id)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return source.ReadCommit(src.Repo, id)
}

// commitRef names a commit for people.
func commitRef(c *object.Commit) branch.CommitRef {
	return branch.CommitRef{Commit: c.Hash.String(), Date: foreigntext.SafeDate(c.Committer.When).UTC()}
}
