package gitsync

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// Credentials are the resolved credentials of a pipeline.
type Credentials struct {
	Sources []repo.Auth // in the order of the pipeline's sources
	Output  repo.Auth   // writes the output, and reads it where it is not a source
	Signing SigningKey  // signs the commits, if there is one
	Verify  []Keyring   // accept the input commits of each source; empty ones accept any
}

// Options decide how passes are made, not what they yield.
type Options struct {
	// CacheDir holds the caches of the repositories.
	CacheDir string
	// Version of agentry, for the trailers of commits.
	Version string
	// DryRun makes everything but the push, and counts changed lines.
	DryRun bool
	// AllowDeletions is the full id of an input commit for which the deletion guard
	// does not hold.
	AllowDeletions string
	// Timeout bounds each attempt of a pass, all of its network operations together. No
	// source may take more than an equal share of it, so that a silent one leaves time to
	// go on without it. Default 10 minutes.
	Timeout time.Duration
	// Repo bounds what is fetched.
	Repo repo.Options
}

// defaultTimeout is that of Options.Timeout.
const defaultTimeout = 10 * time.Minute

// maxAttempts is how often a pass is made again after losing the race for the branch.
const maxAttempts = 5

// Syncer makes passes of one pipeline. It is not safe for concurrent use.
type Syncer struct {
	pipeline Pipeline
	options  Options
	render   generator.Options
	sources  []*source
	output   *repo.Repo
	sign     signFunc     // nil: commits are not signed
	repos    []*repo.Repo // all of them, each once
	memory   memory
}

// source is one source with what was read of it.
type source struct {
	Source
	repo  *repo.Repo
	label string // its URL in diagnostics, where there are several sources
	input input
	base  *base // nil before it was needed
	away  lostCommits
}

// memory is what makes later passes cheap.
type memory struct {
	set      *manifest.Set
	rendered *generator.Output
	written  map[string]writtenUnit
	dirs     map[plumbing.Hash]map[string]repo.Entry
	texts    map[parsedText]*manifest.Object
	done     *done
}

// writtenUnit is a unit and the folder that holds it.
type writtenUnit struct {
	unit *generator.Unit
	dir  plumbing.Hash
}

// done is the outcome of a pass, valid as long as nothing moved.
type done struct {
	inputs []plumbing.Hash
	tip    plumbing.Hash
	report *Report
}

// New prepares a pipeline, which must be valid and have its defaults. It contacts nobody.
func New(p Pipeline, creds Credentials, opts Options) (*Syncer, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	s := &Syncer{pipeline: p, options: opts}
	spec := &s.pipeline.Spec
	if len(creds.Sources) != len(spec.Sources) {
		return nil, fmt.Errorf("pipeline %s: %d credentials for %d sources", p.Metadata.Name, len(creds.Sources), len(spec.Sources))
	}
	var err error
	if s.render, err = spec.renderOptions(); err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Metadata.Name, err)
	}
	sign, err := creds.Signing.signer()
	if err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Metadata.Name, err)
	}
	s.sign = sign
	if err := s.open(creds); err != nil {
		return nil, errors.Join(fmt.Errorf("pipeline %s: %w", p.Metadata.Name, err), s.Close())
	}
	return s, nil
}

// open opens each repository once: sources that share URL and credential share it, and
// the output joins a source of the same URL.
func (s *Syncer) open(creds Credentials) error {
	spec := &s.pipeline.Spec
	output, err := repo.NormaliseURL(spec.Output.URL)
	if err != nil {
		return err
	}
	for i, src := range spec.Sources {
		known := -1
		for n := range i {
			if spec.Sources[n].URL == src.URL && reflect.DeepEqual(creds.Sources[n], creds.Sources[i]) {
				known = n
			}
		}
		url, err := repo.NormaliseURL(src.URL)
		if err != nil {
			return err
		}
		out := &source{Source: src}
		if len(spec.Sources) > 1 {
			out.label = url // what the pipeline says may hold a user name, which may be a token
		}
		s.sources = append(s.sources, out)
		if known >= 0 {
			out.repo = s.sources[known].repo
			continue
		}
		remote := repo.Remote{URL: src.URL, Auth: creds.Sources[i]}
		joined := s.output == nil && url == output
		if joined {
			remote.Push = &creds.Output
		}
		if out.repo, err = s.openRepo(remote); err != nil {
			return err
		}
		if joined {
			s.output = out.repo
		}
	}
	if s.output == nil {
		s.output, err = s.openRepo(repo.Remote{URL: spec.Output.URL, Auth: creds.Output})
	}
	return err
}

func (s *Syncer) openRepo(remote repo.Remote) (*repo.Repo, error) {
	r, err := repo.Open(s.options.CacheDir, remote, s.options.Repo)
	if err == nil {
		s.repos = append(s.repos, r)
	}
	return r, err
}

// Close releases connections and files. The caches stay.
func (s *Syncer) Close() error {
	var errs []error
	for _, r := range s.repos {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Pass fetches, renders and pushes once. An error means that repositories could not be
// reached or written; what is wrong with the inputs is in the report.
func (s *Syncer) Pass(ctx context.Context) (*Report, error) {
	for attempt := 1; ; attempt++ {
		report, err := s.attempt(ctx, attempt == maxAttempts)
		if !errors.Is(err, repo.ErrLostRace) || attempt == maxAttempts || ctx.Err() != nil {
			return report, err
		}
		select { // spread those who race; the first retry is at once
		case <-ctx.Done():
		case <-time.After(time.Duration(attempt-1) * 50 * time.Millisecond):
		}
	}
}

// attempt makes the pass on the tip that it finds.
func (s *Syncer) attempt(ctx context.Context, last bool) (*Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, fmt.Errorf("the pass took longer than %s", s.options.Timeout))
	defer cancel()
	p := &pass{Syncer: s, last: last, dirs: map[plumbing.Hash]map[string]repo.Entry{}, report: &Report{Pipeline: s.pipeline.Metadata.Name, DryRun: s.options.DryRun}}
	if err := p.fetch(ctx); err != nil {
		return p.report, err
	}
	if d := s.memory.done; d != nil && d.tip == p.tip.commit && p.sameInputs(d.inputs) {
		return d.report, nil
	}
	p.reader = s.output.Reader()
	defer p.reader.Close()
	p.past = p.newPast(ctx)
	err := p.run(ctx)
	s.memory.dirs = p.dirs
	if err != nil {
		return p.report, err
	}
	p.report.finish()
	return p.report, nil
}
