package gitsync

import (
	"context"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// destination is where a pass publishes.
func (p *pass) destination(from *start, rd *object.Reader) *publish.Output {
	return &publish.Output{Writer: p.writer(from), Inputs: from.inputs, Tip: from.tip, Branch: from.branch, Reader: rd}
}

// writer is how a pass writes to the output's repository.
func (p *pass) writer(from *start) publish.Writer {
	return publish.Writer{Repo: p.output, Pusher: p.pusher, Sign: p.sign, Author: from.inputs.Author()}
}

// push commits a change on top of the output branch.
func (p *pass) push(ctx context.Context, from *start, c *plan.Change, out *publish.Output) error {
	if p.isRefused(from, c) {
		return nil
	}
	if !c.IsNeeded() {
		p.seen = from.branch.Commit
		p.remember(from)
		return p.settle(c, nil)
	}
	if err := p.refuseContest(from, out.Reader); err != nil || p.report.Refused != nil {
		return err
	}
	if p.options.Offline { // what is on the branch is not known
		return nil
	}
	if err := p.describe(c, from.inputs, publish.Dry{}); err != nil || c.Refused != nil || p.options.DryRun {
		return err
	}
	p.gate.leave()
	p.report.enter(StagePush)
	pushed, err := out.Push(ctx, publish.Change{Edits: c.Edits, Metadata: metadataOf(from.inputs, c, publish.Dry{}),
		Data: messageData(from.inputs, c)})
	p.report.Diags = append(p.report.Diags, pushed.Warnings...)
	if err != nil || pushed.Commit.IsZero() {
		return err
	}
	p.seen, p.report.Commit = pushed.Commit, pushed.Commit.String()
	p.report.Output.Commit = p.report.Commit
	return p.settle(c, &pushed)
}

// describe adds the files that describe a change, and reports what changes.
func (p *pass) describe(c *plan.Change, inputs *publish.Inputs, dry publish.Dry) error {
	err := c.Describe(inputs.Metadata(dry))
	if err != nil || c.Refused != nil {
		return err
	}
	if p.options.DryRun && p.options.NoDifference {
		return nil
	}
	if err := p.explain(c); err != nil {
		return err
	}
	p.report.Diags = append(p.report.Diags, c.StaleSecrets()...)
	return nil
}

// metadataOf describes what a change is rendered from, and which edits of others it leaves.
func metadataOf(inputs *publish.Inputs, c *plan.Change, dry publish.Dry) publish.Metadata {
	m := inputs.Metadata(dry)
	m.Drift = c.DriftLeft
	return m
}

// explain reports what changes, and what it means. A pass that pushes does not keep this report: it is in the commit's
// message.
func (p *pass) explain(c *plan.Change) (err error) {
	if err = c.Compare(p.needsDetails()); err != nil {
		return err
	}
	if p.report.Changes, err = c.Files(); err != nil {
		return err
	}
	switch {
	case p.options.DryRun:
		p.report.Difference = c.Difference
	case p.promotes():
		p.report.Difference = c.Difference.Shorten()
	}
	return nil
}

// needsDetails reports whether the pass shows more of a difference than the message of a commit does.
func (p *pass) needsDetails() bool { return p.options.DryRun || p.promotes() }

// maxBriefLines is how many lines of a commit's message are about what it means.
const maxBriefLines = 30

// messageData returns the data for the templates of messages.
func messageData(inputs *publish.Inputs, c *plan.Change) pipeline.Message {
	data := inputs.MessageData()
	if c.Difference != nil && !c.Difference.IsEmpty() {
		data.Difference = c.Difference.Brief(maxBriefLines)
	}
	for state, list := range map[plan.UnitState]*[]string{plan.UnitAdded: &data.Added, plan.UnitChanged: &data.Changed,
		plan.UnitRemoved: &data.Removed, plan.UnitHeld: &data.Held} {
		*list = c.UnitsWith(state)
	}
	return data
}

// settle keeps which units are on the branch as they were rendered, after a push or without one.
func (p *pass) settle(c *plan.Change, pushed *publish.Pushed) (err error) {
	if pushed == nil {
		p.memory.output, err = c.Remember(nil)
	} else {
		p.memory.output, err = c.Remember(pushed.Folder)
	}
	return err
}
