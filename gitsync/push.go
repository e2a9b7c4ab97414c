package gitsync

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// push commits a change on top of the tip that was fetched, and nowhere else.
func (p *pass) push(ctx context.Context, c *change) error {
	if p.promotes() {
		return p.promote(ctx, c)
	}
	w := object.NewWriter(p.reader)
	tree, err := w.EditTree(p.branch.Tree, c.edits)
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	if tree == p.branch.Tree && !p.branch.Commit.IsZero() {
		return nil
	}
	commit, _, err := p.commit(w, tree)
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	branch := repo.Update{Ref: "refs/heads/" + p.pipeline.Spec.Output.Branch, Old: p.tip.Output.Value, New: commit}
	if err := p.pusher.Push(ctx, w, branch); err != nil {
		return err
	}
	p.report.Commit = commit.String()
	dirs, err := p.folders(w, tree, c)
	if err != nil {
		return err
	}
	p.settle(dirs)
	return nil
}

// commit makes the commit.
func (p *pass) commit(w *object.Writer, tree plumbing.Hash) (commit plumbing.Hash, message string, err error) {
	message, warnings, err := p.renderedFrom().Message(p.messageData())
	p.report.Diags = append(p.report.Diags, warnings...)
	if err != nil {
		return commit, "", err
	}
	var parents []plumbing.Hash
	if !p.branch.Commit.IsZero() {
		parents = append(parents, p.branch.Commit)
	}
	commit, err = p.writer().Commit(w, tree, message, parents...)
	return commit, message, err
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

// folders finds the trees of the units that were written, also if only their README.md was.
func (p *pass) folders(w *object.Writer, root plumbing.Hash, c *change) (map[string]plumbing.Hash, error) {
	out := map[string]plumbing.Hash{}
	for i := range p.plan {
		plan := &p.plan[i]
		_, told := c.edits[p.branch.At(plan.name, branch.ReadmeFile)]
		if plan.state == UnitUnchanged && !told || plan.state != UnitUnchanged && plan.action != write {
			continue
		}
		dir, err := lookup(w, root, p.branch.At(plan.name))
		if err != nil {
			return nil, err
		}
		out[plan.name] = dir
	}
	return out, nil
}

// lookup finds a folder in a tree that may be new.
func lookup(w *object.Writer, dir plumbing.Hash, name string) (plumbing.Hash, error) {
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		entries, err := w.Tree(dir)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		i := slices.IndexFunc(entries, func(e object.Entry) bool { return e.Name == part })
		if i < 0 {
			return plumbing.ZeroHash, fmt.Errorf("%s: %w", name, object.ErrPathNotFound)
		}
		dir = entries[i].Hash
	}
	return dir, nil
}
