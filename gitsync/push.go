package gitsync

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
)

// push commits a change on top of the tip that was fetched, and nowhere else.
func (p *pass) push(ctx context.Context, c *change) error {
	if p.promotes() {
		return p.promote(ctx, c)
	}
	pushed, err := p.destination().Push(ctx, publish.Change{Edits: c.edits, Data: p.messageData()})
	p.report.Diags = append(p.report.Diags, pushed.Warnings...)
	if err != nil || pushed.Commit.IsZero() {
		return err
	}
	p.report.Commit = pushed.Commit.String()
	return p.settlePushed(c, &pushed)
}

// destination is where this pass publishes.
func (p *pass) destination() *publish.Output {
	return &publish.Output{Writer: p.writer(), Inputs: p.renderedFrom(), Tip: p.tip, Branch: p.branch, Reader: p.reader}
}

// renderedFrom is what the pass renders, once it is fetched.
func (p *pass) renderedFrom() *publish.Inputs {
	in := &publish.Inputs{Pipeline: &p.pipeline, Version: p.options.Version}
	for i, src := range p.sources {
		in.Sources = append(in.Sources, publish.Source{URL: src.Repo.URL(), Ref: src.Ref.RepoRef().String(), Commit: p.commits[i]})
	}
	return in
}

// writer is how this pass writes to the output's repository.
func (p *pass) writer() publish.Writer {
	return publish.Writer{Repo: p.output, Pusher: p.pusher, Sign: p.sign, Author: p.renderedFrom().Author()}
}

// messageData is what the templates of messages see.
func (p *pass) messageData() pipeline.Message {
	data := p.renderedFrom().MessageData()
	for _, plan := range p.plan {
		for state, list := range map[UnitState]*[]string{UnitAdded: &data.Added, UnitChanged: &data.Changed, UnitRemoved: &data.Removed, UnitHeld: &data.Held} {
			if plan.state == state {
				*list = append(*list, plan.name)
			}
		}
	}
	return data
}

// settlePushed settles the units that were written, also if only their README.md was.
func (p *pass) settlePushed(c *change, pushed *publish.Pushed) error {
	out := map[string]plumbing.Hash{}
	for i := range p.plan {
		plan := &p.plan[i]
		_, told := c.edits[p.branch.At(plan.name, branch.ReadmeFile)]
		if plan.state == UnitUnchanged && !told || plan.state != UnitUnchanged && plan.action != write {
			continue
		}
		dir, err := pushed.Folder(p.branch.At(plan.name))
		if err != nil {
			return err
		}
		out[plan.name] = dir
	}
	p.settle(out)
	return nil
}
