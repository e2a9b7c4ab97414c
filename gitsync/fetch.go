package gitsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// fetch brings all input commits and the tip of the output branch. A source that cannot
// be had stays at its base: the commit that the output was last rendered from.
func (p *pass) fetch(ctx context.Context) error {
	commits := make([]plumbing.Hash, len(p.sources))
	failed := make([]error, len(p.sources))
	for _, r := range p.repos {
		if err := p.fetchRepo(ctx, r, commits, failed); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := p.readBranch(); err != nil {
		return err
	}
	for i, src := range p.sources {
		if verify := p.verify[i]; failed[i] == nil && verify != nil {
			failed[i] = verify.Accept(src.Repo, commits[i])
		}
		stale := failed[i] != nil
		if stale {
			base, err := p.stay(ctx, i, failed[i])
			if err != nil {
				return err
			}
			commits[i] = base
		}
		commit, err := source.ReadCommit(src.Repo, commits[i])
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", commits[i], src.Repo.URL(), err)
		}
		p.commits = append(p.commits, commit)
		p.report.Sources = append(p.report.Sources, SourceReport{URL: src.Repo.URL(), Ref: src.Ref.RepoRef().String(), Commit: commit.Hash.String(), Date: foreigntext.SafeDate(commit.Committer.When).UTC(), Stale: stale})
	}
	return nil
}

// share is the time that one source may take.
func (p *pass) share(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := p.options.Timeout / time.Duration(len(p.repos)+1)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
}

// ref is what is read of a source.
func (p *pass) ref(i int) repo.Ref {
	if head, ok := p.options.Heads[i]; ok && p.options.DryRun {
		return head
	}
	return p.sources[i].Ref.RepoRef()
}

// fetchRepo fetches all that is wanted of one repository in one go. When a ref of it
// does not exist, the others are fetched one by one.
func (p *pass) fetchRepo(ctx context.Context, r *repo.Repo, commits []plumbing.Hash, failed []error) error {
	var refs []repo.Ref
	var owners []int
	for i, src := range p.sources {
		if src.Repo == r {
			refs, owners = append(refs, p.ref(i)), append(owners, i)
		}
	}
	isOutput := r == p.output
	if !isOutput {
		var cancel context.CancelFunc
		ctx, cancel = p.share(ctx)
		defer cancel()
	}
	if isOutput {
		refs = append(refs, publish.Refs(&p.pipeline.Spec.Output)...)
	}
	tips, err := r.FetchSince(ctx, p.round, refs...)
	if err == nil {
		for n, i := range owners {
			commits[i] = tips[n].Commit
		}
		if isOutput {
			p.tip = publish.TipOf(tips[len(owners):])
		}
		return nil
	}
	if !errors.Is(err, transport.ErrRefNotFound) && !errors.Is(err, repo.ErrEmptyRepository) {
		if isOutput {
			return err
		}
		for _, i := range owners {
			failed[i] = err
		}
		return nil
	}
	for n, i := range owners {
		tips, err := r.FetchSince(ctx, p.round, refs[n])
		if err != nil {
			failed[i] = err
			continue
		}
		commits[i] = tips[0].Commit
	}
	if isOutput {
		tips, err := r.FetchSince(ctx, p.round, publish.Refs(&p.pipeline.Spec.Output)...)
		if err != nil {
			return err
		}
		p.tip = publish.TipOf(tips)
	}
	return nil
}

// readBranch reads what the output branch says about itself.
func (p *pass) readBranch() (err error) {
	output := p.pipeline.Spec.Output
	p.report.Output = OutputReport{URL: p.output.URL(), Branch: output.Branch, Path: output.Path}
	rd := p.output.Reader()
	defer rd.Close()
	if p.branch, err = branch.Read(rd, p.tip.Output.Commit, output.Path); err != nil {
		return fmt.Errorf("read the tip of %s: %w", output.Branch, err)
	}
	if !p.branch.Commit.IsZero() {
		p.report.Output.Before = p.branch.Commit.String()
	}
	if !p.promotes() {
		return nil
	}
	return p.readPromotion(rd)
}

// stay returns the commit of a source that was rendered last, if it is still to be had.
func (p *pass) stay(ctx context.Context, i int, cause error) (plumbing.Hash, error) {
	src := p.sources[i]
	code, hint := diag.SourceUnreachable, cmp.Or(pipeline.Remedy(cause), "check the URL, the ref, the network and the credentials")
	refused, isRefused := errors.AsType[*signature.Refused](cause)
	if isRefused {
		code, hint = refused.Code, refused.Hint
	}
	ctx, cancel := p.share(ctx)
	defer cancel()
	for _, last := range p.lastCommits(i) {
		if _, err := src.Repo.FetchSince(ctx, p.round, repo.Ref{Commit: last.String()}); err != nil {
			continue
		}
		if verify := p.verify[i]; verify != nil && last != p.baseOf(i) && verify.Accept(src.Repo, last) != nil {
			continue // it is none that was rendered: somebody wrote it down
		}
		p.error(code, src.Repo.URL(), hint, "%v; the pass goes on with commit %s, which was rendered last", cause, pipeline.ShortID(last.String()))
		return last, nil
	}
	if isRefused {
		return plumbing.ZeroHash, fmt.Errorf("%w; no commit of it was rendered before: %s", cause, hint)
	}
	return plumbing.ZeroHash, cause
}

// lastCommits are the commits of a source that were rendered last, the best one first: what
// is proposed, so that a proposal stays while a source is away, and what is on the output
// branch.
func (p *pass) lastCommits(i int) []plumbing.Hash {
	src := p.sources[i]
	var out []plumbing.Hash
	if p.tip.Lock != nil {
		for _, s := range p.tip.Lock.Sources {
			if s.URL == src.Repo.URL() && s.Ref == src.Ref.RepoRef().String() && plumbing.IsHash(s.Commit) {
				out = append(out, plumbing.NewHash(s.Commit))
			}
		}
	}
	if base := p.baseOf(i); !base.IsZero() {
		out = append(out, base)
	}
	return out
}
