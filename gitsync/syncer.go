package gitsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/hold"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// Credentials are the resolved credentials of a pipeline.
type Credentials struct {
	Sources []transport.Auth    // in the order of the pipeline's sources
	Output  transport.Auth      // writes the output, and reads it where it is not a source
	Signing signature.Key       // signs the commits, if there is one
	Verify  []signature.Keyring // accept the input commits of each source; empty ones accept any
}

// Options decide how passes are made, not what they yield.
type Options struct {
	// Pool holds the repositories and outlives the Syncer. Nil: one of its own in CacheDir.
	Pool *repo.Pool `json:"-"`
	// CacheDir holds the caches of the repositories if there is no Pool.
	CacheDir string
	// Gate is waited for before a pass reads and renders, and released while it waits for
	// the network: it bounds how many passes of a process compute at once. Nil: no bound.
	Gate func(context.Context) (release func(), err error) `json:"-"`
	// Batches gather what pipelines of one repository write to the same refs. Nil: each pass
	// writes for itself.
	Batches *publish.Batches `json:"-"`
	// Version of agentry, for the trailers of commits.
	Version string
	// DryRun makes everything but the push, and counts changed lines.
	DryRun bool
	// Heads are refs that dry passes read in the places of those of sources, by the index of
	// the source: what would be if they were merged. All else, such as what stands in for what
	// cannot be rendered, is as without them.
	Heads map[int]repo.Ref
	// Review fills Report.Rendered, with texts of the agents' configurations that hold no
	// secrets. It needs DryRun.
	Review bool
	// AllowDeletions is the full id of an input commit for which the deletion guard
	// does not hold.
	AllowDeletions string
	// Timeout bounds each attempt of a pass, all of its network operations together. No
	// source may take more than an equal share of it, so that a silent one leaves time to
	// go on without it. Default 10 minutes.
	Timeout time.Duration
	// Repo bounds what is fetched if there is no Pool.
	Repo repo.Options
}

// defaultTimeout is that of Options.Timeout.
const defaultTimeout = 10 * time.Minute

// maxAttempts is how often a pass is made again after losing the race for the branch.
const maxAttempts = 5

// Syncer makes passes of one pipeline. It is not safe for concurrent use.
type Syncer struct {
	pipeline pipeline.Pipeline
	options  Options
	render   generator.Options
	sources  source.Sources
	remotes
	creds   Credentials
	sign    signature.Func // nil: commits are not signed
	own     *repo.Pool     // nil if Options has one
	batches *publish.Batches
	memory  memory
}

// memory has the caches of the stages, which make later passes cheap. The sources keep theirs.
type memory struct {
	branch   branch.Cache
	lastGood hold.Cache
	rendered *generator.Output
	settled  plan.Settled
	noted    publish.Noted
	done     *done
}

// New prepares a pipeline, which must be valid and have its defaults. It contacts nobody.
func New(p pipeline.Pipeline, creds Credentials, opts Options) (*Syncer, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	s := &Syncer{pipeline: p, options: opts}
	if opts.Pool == nil {
		s.own = repo.NewPool(opts.CacheDir, opts.Repo)
		s.options.Pool = s.own
	}
	if s.batches = opts.Batches; s.batches == nil {
		s.batches = publish.NewBatches(0)
	}
	spec := &s.pipeline.Spec
	err := spec.Output.CheckProposedBranch()
	if err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Metadata.Name, err)
	}
	if s.render, err = renderOptions(spec); err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Metadata.Name, err)
	}
	for _, src := range spec.Sources {
		s.sources.List = append(s.sources.List, &source.Source{Source: src})
	}
	if err := s.SetCredentials(creds); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases connections and files. The caches stay.
func (s *Syncer) Close() {
	if s.output != nil {
		s.batches.Leave(s.pipeline.Metadata.Name, s.output)
	}
	s.remotes.close()
	if s.own != nil {
		s.own.Close()
	}
}

// Pass fetches, renders and pushes once. An error means that repositories could not be
// reached or written; what is wrong with the inputs is in the report.
func (s *Syncer) Pass(ctx context.Context) (*Report, error) {
	return s.PassSince(ctx, time.Now())
}

// PassSince is Pass, but does not ask remotes for their refs again that were asked after
// since: the pipelines of one round share what the remotes answered. When nothing has
// moved since the last pass, it uses no network of its own.
func (s *Syncer) PassSince(ctx context.Context, since time.Time) (*Report, error) {
	for attempt := 1; ; attempt++ {
		report, err := s.attempt(ctx, since)
		if !errors.Is(err, repo.ErrLostRace) || attempt == maxAttempts || ctx.Err() != nil {
			return report, err
		}
		select { // spread those who race; the first retry is at once
		case <-ctx.Done():
		case <-time.After(time.Duration(attempt-1) * 50 * time.Millisecond):
		}
		since = time.Now()
	}
}

// attempt makes the pass on the tip that it finds.
func (s *Syncer) attempt(ctx context.Context, since time.Time) (*Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, fmt.Errorf("the pass took longer than %s", s.options.Timeout))
	defer cancel()
	output := &s.pipeline.Spec.Output
	p := &pass{Syncer: s, since: since, gate: gate{wait: s.options.Gate}, report: &Report{
		Pipeline: s.pipeline.Metadata.Name, DryRun: s.options.DryRun,
		Output: OutputReport{URL: s.output.URL(), Branch: output.Branch, Path: output.Path},
	}}
	err := p.run(ctx)
	p.report.enter("")
	return p.report, err
}
