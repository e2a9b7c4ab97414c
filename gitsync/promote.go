package gitsync

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Proposal is what a pipeline with promotion wants the output branch to become.
type Proposal struct {
	// Branch holds it: ProposedBranch of the pipeline's output.
	Branch string
	// Base is the commit of the output branch that it is on top of.
	Base string
	// Before and Commit are the tip of Branch before and after the pass. Commit is Base when
	// there is nothing to propose; it is empty when the pass was refused, or a dry one.
	Before, Commit string
	// DrySHA is the commit that names what it was rendered from.
	DrySHA string
	// Message is the proposed commit's; empty when there is none. Data are what its template
	// was given.
	Message string
	Data    pipeline.Message
}

// Open reports whether there is something to promote.
func (p *Proposal) Open() bool { return p != nil && p.Commit != "" && p.Commit != p.Base }

// promotes reports whether the pipeline proposes and somebody else merges.
func (s *Syncer) promotes() bool { return s.pipeline.Spec.Output.Promotion.Mode.Proposes() }

// readPromotion reads what the next proposal is compared with.
func (p *pass) readPromotion(rd *object.Reader) error {
	p.report.Proposed = &Proposal{Branch: p.pipeline.Spec.Output.ProposedBranch()}
	if p.tip.Proposed.Exists() {
		p.report.Proposed.Before = p.tip.Proposed.Commit.String()
	}
	if !p.branch.Commit.IsZero() {
		p.report.Proposed.Base = p.branch.Commit.String()
	}
	return p.tip.ReadPromotion(rd, p.branch, p.pipeline.Metadata.Name)
}

// sameProposal reports whether the outcome of an earlier pass still holds. That others have
// written to the branch of inputs makes the commit up to date with its new tip and nothing else.
func (p *pass) sameProposal(ctx context.Context, d *done) bool {
	if !p.promotes() {
		return true
	}
	if p.tip.Proposed.Commit != d.proposed {
		return false
	}
	if p.tip.Inputs.Commit == d.locked {
		return true
	}
	if p.options.DryRun || !p.tip.Lock.SameSources(p.renderedFrom()) {
		return false
	}
	p.note(ctx, d.proposed, p.tip.Inputs.Commit)
	d.locked = p.tip.Inputs.Commit
	report, proposed := *d.report, *d.report.Proposed // somebody may be reading the old ones
	proposed.DrySHA, report.Proposed = d.locked.String(), &proposed
	d.report = &report
	return len(p.report.Diags) == 0
}

// compareProposal decides what is to be done about the proposed branch. Before a change is
// proposed, what it is rendered from is written down.
func (p *pass) compareProposal(ctx context.Context, c *change, unchanged bool) (done bool, err error) {
	if c.nothing = unchanged; unchanged {
		return true, nil
	}
	message, stands, err := p.destination().Stands(c.edits)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", p.pipeline.Spec.Output.ProposedBranch(), err)
	}
	if c.stands = stands; stands {
		p.report.Proposed.Message = message
		return true, p.count(c)
	}
	commit, err := p.lock(ctx, true)
	p.dry = publish.Dry{RepoURL: p.output.URL(), Commit: commit}
	return false, err
}

// promote brings the proposed branch to one commit on top of the output branch, or to that
// branch's tip when there is nothing to propose.
func (p *pass) promote(ctx context.Context, c *change) error {
	out := p.report.Proposed
	dry, commit := p.dry.Commit, p.branch.Commit
	var err error
	if c.nothing || c.stands {
		if dry, err = p.lock(ctx, false); err != nil {
			return err
		}
	}
	switch {
	case c.stands:
		commit, out.Data = p.tip.Proposed.Commit, p.messageData()
	case c.nothing:
		err = p.destination().ProposeNothing(ctx)
	default:
		commit, err = p.proposeChange(ctx, c)
	}
	if err != nil {
		return err
	}
	out.Commit, out.DrySHA = commit.String(), dry.String()
	p.note(ctx, commit, dry)
	if c.nothing || c.stands {
		p.settle(nil)
	}
	if out.Before == out.Commit {
		p.remember()
		p.memory.done.proposed, p.memory.done.locked = commit, dry
	}
	return nil
}

// proposeChange proposes a change, and notes what came of it.
func (p *pass) proposeChange(ctx context.Context, c *change) (plumbing.Hash, error) {
	out, data := p.report.Proposed, p.messageData()
	pushed, err := p.destination().Propose(ctx, publish.Change{Edits: c.edits, Data: data, Readme: p.readme()})
	p.report.Diags = append(p.report.Diags, pushed.Warnings...)
	if !pushed.Base.IsZero() {
		p.branch.Commit, out.Base = pushed.Base, pushed.Base.String() // there may have been none
	}
	if err != nil {
		return pushed.Commit, err
	}
	out.Message, out.Data = pushed.Message, data
	return pushed.Commit, p.settlePushed(c, &pushed)
}

// note tells promotion tools what a commit is up to date with. They do without if it must be:
// nothing else depends on it.
func (p *pass) note(ctx context.Context, commit, dry plumbing.Hash) {
	n := publish.Note{Writer: p.writer(), Pipeline: p.pipeline.Metadata.Name, Commit: commit, Dry: dry}
	if err := p.memory.noted.Note(ctx, p.batches, n); err != nil {
		p.warn(diag.NoteRefused, "", "allow pushes to "+publish.NotesRef+"; if it cannot be extended, delete it; or ignore this if nothing reads the note",
			"what is proposed is on %s, its note was not pushed: %v", p.pipeline.Spec.Output.ProposedBranch(), err)
	}
}

// lock returns a commit of the inputs that holds what this pass renders from, and makes it
// if need be.
func (p *pass) lock(ctx context.Context, proposing bool) (commit plumbing.Hash, err error) {
	inputs := p.renderedFrom()
	file := inputs.NextLock(&p.tip, p.branch.Commit, proposing)
	if file == nil {
		return p.tip.Inputs.Commit, nil
	}
	lock := publish.Lock{Writer: p.writer(), File: file, About: inputs.About(), Since: p.round}
	if p.options.DryRun {
		return lock.DryCommit(p.tip.Inputs)
	}
	err = p.outside(ctx, func() (err error) {
		commit, err = p.batches.Lock(ctx, lock)
		return err
	})
	if err != nil {
		return commit, fmt.Errorf("write down the inputs on %s: %w", publish.InputsBranch, err)
	}
	return commit, nil
}
