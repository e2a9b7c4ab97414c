package publish

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Output publishes the output of a pass, on top of the fetched tips only.
type Output struct {
	Writer
	Inputs *Inputs
	Tip    Tip
	Branch *branch.Branch // the output branch at the tip
	Reader *object.Reader // of the repository
}

// Change is a change to commit.
type Change struct {
	Edits    map[string]object.Edit // by path on the branch
	Metadata Metadata               // the content of MetadataFile, instead of any in Edits
	Data     pipeline.Message       // the data of the message template
	Readme   []byte                 // the README.md at the output path
}

// Pushed is a commit that was made and pushed. After an error it has the part that was made before.
type Pushed struct {
	Commit   plumbing.Hash // zero if nothing had to change
	Base     plumbing.Hash // its parent; zero if there is none
	Message  string
	Warnings diag.List

	tree plumbing.Hash
	w    *object.Writer
}

func (o *Output) start() Pushed {
	return Pushed{Base: o.Branch.Commit, tree: o.Branch.Tree, w: object.NewWriter(o.Reader)}
}

// Push commits a change to the output branch. It returns [repo.ErrLostRace] if the branch has moved.
func (o *Output) Push(ctx context.Context, c Change) (p Pushed, err error) {
	p = o.start()
	if err := o.edit(&p, c); err != nil || p.tree == o.Branch.Tree && !p.Base.IsZero() {
		return p, err
	}
	if err := o.commit(&p, c); err != nil {
		return p, err
	}
	return p, o.Pusher.Push(ctx, p.w, repo.Update{Ref: o.ref(), Old: o.Tip.Output.Value, New: p.Commit})
}

func (o *Output) ref() string { return "refs/heads/" + o.Inputs.Pipeline.Spec.Output.Branch }

// edit makes the tree, whose metadata has the hash of all other files.
func (o *Output) edit(p *Pushed, c Change) (err error) {
	if p.tree, err = p.w.EditTree(p.tree, c.Edits); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	dir, err := p.Folder(o.Branch.At())
	if err != nil {
		return err
	}
	entries, err := p.w.Tree(dir)
	if err != nil {
		return err
	}
	c.Metadata.Tree = branch.FolderHash(entries).String()
	data, err := branch.EncodeJSON(c.Metadata)
	if err != nil {
		return err
	}
	if p.tree, err = p.w.EditTree(p.tree,
		map[string]object.Edit{o.Branch.At(branch.MetadataFile): {Data: data}}); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

func (o *Output) commit(p *Pushed, c Change) (err error) {
	if p.Message, p.Warnings, err = o.Inputs.Message(c.Data); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	var parents []plumbing.Hash
	if !p.Base.IsZero() {
		parents = append(parents, p.Base)
	}
	if p.Commit, err = o.Writer.Commit(p.w, p.tree, p.Message, parents...); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// Folder returns the tree of a folder in the commit.
func (p *Pushed) Folder(name string) (plumbing.Hash, error) {
	entry, err := p.w.Lookup(p.tree, name)
	return entry.Hash, err
}
