package gitsync

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/publish"
)

// Proposal is the commit that a pipeline with promotion proposes for the output branch.
type Proposal struct {
	// Branch holds it: ProposedBranch of the pipeline's output.
	Branch string
	// Base is the commit of the output branch that it is on top of.
	Base string
	// Before and Commit are the tip of Branch before and after the pass. Commit is Base if there is nothing to
	// propose. It is empty if the pass was refused, or is a dry run.
	Before, Commit string
	// DrySHA is the commit that names what it was rendered from.
	DrySHA string
	// Message is the message of the proposed commit, and Data the data of its template. They are empty if there is no
	// commit.
	Message string
	Data    pipeline.Message
}

// Open reports whether there is something to promote.
func (p *Proposal) Open() bool { return p != nil && p.Commit != "" && p.Commit != p.Base }

// promotes reports whether the pipeline proposes and somebody else merges.
func (s *Syncer) promotes() bool { return s.pipeline.Spec.Output.Promotion.Mode.Proposes() }

// isStillProposed reports whether the proposal of an earlier pass still stands. If others wrote to the branch of
// inputs, only the note has to name its new tip.
func (p *pass) isStillProposed(ctx context.Context, from *start, d *done) bool {
	switch {
	case !p.promotes():
		return true
	case from.tip.Proposed.Commit != d.proposed:
		return false
	case from.tip.Inputs.Commit == d.locked:
		return true
	case p.options.DryRun || !from.tip.Lock.SameSources(from.inputs):
		return false
	}
	p.note(ctx, from, d.proposed, from.tip.Inputs.Commit)
	d.locked = from.tip.Inputs.Commit
	report, proposed := *d.report, *d.report.Proposed // somebody may be reading the old ones
	proposed.DrySHA, report.Proposed = d.locked.String(), &proposed
	d.report = &report
	return len(p.report.Diags) == 0
}

// propose brings the proposed branch to one commit on top of the output branch, or to the tip of the output
// branch if there is nothing to propose.
func (p *pass) propose(ctx context.Context, from *start, c *plan.Change, out *publish.Output) error {
	if p.isRefused(from, c) {
		return nil
	}
	report := p.report.Proposed
	stands, err := p.isProposed(c, out)
	if err != nil {
		return err
	}
	isNew := c.IsNeeded() && !stands
	dry := publish.Dry{RepoURL: p.output.URL()}
	switch {
	case isNew:
		if dry.Commit, err = p.lock(ctx, from, true); err == nil {
			err = p.describe(c, from.inputs, dry)
		}
	case stands:
		err = p.explain(c)
	}
	if err != nil || c.Refused != nil || p.options.DryRun {
		return err
	}
	p.gate.leave()
	p.report.enter(StagePush)
	if !isNew {
		if dry.Commit, err = p.lock(ctx, from, false); err != nil {
			return err
		}
	}
	commit := from.branch.Commit
	switch {
	case isNew:
		commit, err = p.proposeNew(ctx, from, c, out, dry)
	case stands:
		commit, report.Data = from.tip.Proposed.Commit, messageData(from.inputs, c)
	default:
		err = out.ProposeNothing(ctx)
	}
	if err != nil {
		return err
	}
	report.Commit, report.DrySHA = commit.String(), dry.Commit.String()
	p.note(ctx, from, commit, dry.Commit)
	if report.Before == report.Commit {
		if d := p.remember(from); d != nil {
			d.proposed, d.locked = commit, dry.Commit
		}
	}
	if isNew {
		return nil
	}
	return p.settle(c, nil)
}

// isProposed reports whether a change is proposed already.
func (p *pass) isProposed(c *plan.Change, out *publish.Output) (bool, error) {
	if !c.IsNeeded() {
		return false, nil
	}
	message, stands, err := out.IsProposed(c.Edits)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", p.pipeline.Spec.Output.ProposedBranch(), err)
	}
	p.report.Proposed.Message = message
	return stands, nil
}

// proposeNew proposes a change with a new commit.
func (p *pass) proposeNew(ctx context.Context, from *start, c *plan.Change, out *publish.Output,
	dry publish.Dry) (plumbing.Hash, error) {
	report, data := p.report.Proposed, messageData(from.inputs, c)
	pushed, err := out.Propose(ctx,
		publish.Change{Edits: c.Edits, Metadata: metadataOf(from.inputs, c, dry), Data: data, Readme: c.Readme()})
	p.report.Diags = append(p.report.Diags, pushed.Warnings...)
	if !pushed.Base.IsZero() {
		report.Base = pushed.Base.String() // the push made the output branch if there was none
	}
	if err != nil {
		return pushed.Commit, err
	}
	report.Message, report.Data = pushed.Message, data
	return pushed.Commit, p.settle(c, &pushed)
}

// note tells promotion tools what a commit is up to date with. A note that is refused is a warning, because
// nothing else depends on it.
func (p *pass) note(ctx context.Context, from *start, commit, dry plumbing.Hash) {
	n := publish.Note{Writer: p.writer(from), Pipeline: p.pipeline.Metadata.Name, Commit: commit, Dry: dry}
	if err := p.memory.noted.Note(ctx, p.batches, n); err != nil {
		p.report.Diags = append(p.report.Diags,
			diag.NoteRefused.At("", "what is proposed is on %s, its note was not pushed: %v",
				p.pipeline.Spec.Output.ProposedBranch(), err).WithHint("allow pushes to "+publish.NotesRef+
				"; if it cannot be extended, delete it; or ignore this if nothing reads the note"))
	}
}

// lock returns a commit of the branch of inputs that names what the pass renders, and makes it if there is none.
func (p *pass) lock(ctx context.Context, from *start, isNew bool) (commit plumbing.Hash, err error) {
	file := from.inputs.NextLock(&from.tip, from.branch.Commit, isNew)
	if file == nil {
		return from.tip.Inputs.Commit, nil
	}
	lock := publish.Lock{Writer: p.writer(from), File: file, About: from.inputs.About(), Since: p.since}
	if p.options.DryRun {
		return lock.DryCommit(from.tip.Inputs)
	}
	err = p.gate.outside(ctx, func() (err error) {
		commit, err = p.batches.Lock(ctx, lock)
		return err
	})
	if err != nil {
		return commit, fmt.Errorf("write down the inputs on %s: %w", publish.InputsBranch, err)
	}
	return commit, nil
}
