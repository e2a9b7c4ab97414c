package gitsync

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/agentry-dev/agentry/gitsync/internal/lastgood"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/internal/panics"
)

// start is the state that a pass starts from: the commits of the sources, and the output branch.
type start struct {
	commits []*object.Commit // of the sources
	bases   []plumbing.Hash  // what the output was last rendered from; zero if unknown
	inputs  *publish.Inputs  // the commits, as those see them who read the output
	tip     publish.Tip
	branch  *branch.Branch
}

// fetch fetches the sources and the output branch. A source that cannot be fetched stays at the commit that was
// rendered last.
func (p *pass) fetch(ctx context.Context) (*start, error) {
	tips, output, err := p.fetchAll(ctx)
	if err != nil {
		return nil, err
	}
	s := &start{tip: publish.TipOf(output), inputs: &publish.Inputs{Pipeline: &p.pipeline, Version: p.options.Version}}
	if err := p.readBranch(s); err != nil {
		return nil, err
	}
	p.openCharts(s, p.useNetwork(ctx))
	p.fileDecrypter.Retry()
	for i, src := range p.sources.List {
		if err := p.choose(ctx, s, src, tips[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// fetchAll fetches the refs of each repository in one request, and several repositories at the same time.
func (p *pass) fetchAll(ctx context.Context) (tips []source.Tip, output []repo.Tip, err error) {
	tips = make([]source.Tip, len(p.sources.List))
	errs := make([]error, len(p.repos))
	panics.Each(len(p.repos), func(n int) {
		others, err := p.fetchFrom(ctx, p.repos[n], tips)
		if errs[n] = err; p.repos[n] == p.output {
			output = others
		}
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return tips, output, nil
}

// fetchFrom fetches the sources in a repository into their places in tips, and returns the refs of the output if they
// are there.
func (p *pass) fetchFrom(ctx context.Context, r *repo.Repo, tips []source.Tip) ([]repo.Tip, error) {
	var refs, others []repo.Ref
	var owners []int
	for i, src := range p.sources.List {
		if src.Repo == r {
			refs, owners = append(refs, p.ref(i)), append(owners, i)
		}
	}
	if r == p.output {
		others = publish.Refs(&p.pipeline.Spec.Output)
	}
	limit, cancel := p.share(ctx)
	defer cancel()
	if r == p.output && p.options.RequestTimeout == 0 {
		limit = ctx
	}
	found, other, err := source.Fetch(limit, r, p.since, refs, others)
	if err != nil {
		return nil, err
	}
	for n, i := range owners {
		tips[i] = found[n]
	}
	return other, nil
}

// ref returns the ref that is read of a source.
func (p *pass) ref(i int) repo.Ref {
	if local, ok := p.options.Local[i]; ok && p.options.DryRun {
		return repo.Ref{Commit: local.Commit.String()}
	}
	if head, ok := p.options.SourceRefs[i]; ok && p.options.DryRun {
		return head
	}
	return p.sources.List[i].Ref.RepoRef()
}

// share bounds the time to the part that the requests to one repository may take.
func (p *pass) share(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(p.options.RequestTimeout, p.options.Timeout/time.Duration(len(p.repos)+1))
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
}

// useNetwork returns how the pass uses the network while it computes: in a share of the time, and without its slot for
// computing.
func (p *pass) useNetwork(ctx context.Context) source.UseNetwork {
	return func(f func(context.Context) error) error {
		limit, cancel := p.share(ctx)
		defer cancel()
		err := p.gate.outside(ctx, func() error { return f(limit) })
		if limit.Err() != nil && ctx.Err() == nil {
			return source.ErrNoAnswer
		}
		return err
	}
}

// readBranch reads what the output branch says about itself.
func (p *pass) readBranch(s *start) (err error) {
	output := &p.pipeline.Spec.Output
	rd := p.output.Reader()
	defer rd.Close()
	if s.branch, err = branch.Read(rd, s.tip.Output.Commit, output.Path); err != nil {
		return fmt.Errorf("read the tip of %s: %w", output.Branch, err)
	}
	before := ""
	if !s.branch.Commit.IsZero() {
		before = s.branch.Commit.String()
	}
	p.report.Output.Before, p.report.Output.Commit = before, before
	if !p.promotes() {
		return nil
	}
	p.report.Proposed = &Proposal{Branch: output.ProposedBranch(), Base: before}
	if s.tip.Proposed.Exists() {
		p.report.Proposed.Before = s.tip.Proposed.Commit.String()
	}
	return s.tip.ReadPromotion(rd, s.branch, p.pipeline.Metadata.Name)
}

// choose adds the commit of the next source.
func (p *pass) choose(ctx context.Context, s *start, src *source.Source, tip source.Tip) error {
	url, ref := src.Repo.URL(), src.RefName()
	before := 0 // sources with the same URL and ref
	for _, other := range s.inputs.Sources {
		if other.Ref == ref && pipeline.SameRepository(other.URL, url) {
			before++
		}
	}
	last := source.Rendered{Base: s.branch.Inventory.Base(url, ref, before), Proposed: s.tip.Lock.Commits(url, ref)}
	limit, cancel := p.share(ctx)
	defer cancel()
	commit, stale, err := src.Choose(limit, p.since, tip, last)
	if err != nil {
		return err
	}
	if stale != nil {
		p.report.Diags = append(p.report.Diags, *stale)
	}
	s.commits, s.bases = append(s.commits, commit), append(s.bases, last.Base)
	s.inputs.Sources = append(s.inputs.Sources, publish.Source{URL: url, Ref: ref, Commit: commit})
	mounts := map[string]int{}
	for name, n := range p.pipeline.Spec.Mounts(len(p.report.Sources)) {
		mounts[source.MountFolder(name)] = n
	}
	subject, _ := committext.SplitMessage(commit.Message)
	p.report.Sources = append(p.report.Sources,
		SourceStatus{URL: url, Ref: ref, Commit: commit.Hash.String(), Date: lastgood.CommitRef(commit).Date,
			Subject: subject, Stale: stale != nil, Label: src.Label, Mounts: mounts})
	return nil
}
