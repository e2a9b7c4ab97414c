package publish

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// isMetadata reports whether a file only describes the rendered files.
func isMetadata(name string) bool {
	base := path.Base(name)
	return base == branch.MetadataFile || base == branch.ReadmeFile || base == branch.AttributesFile ||
		strings.Contains("/"+name, "/"+path.Dir(branch.InventoryFile)+"/")
}

// IsProposed reports whether the change is already proposed: the proposed branch has one commit on top of the output
// branch, with exactly this change. It also returns the message of that commit.
func (o *Output) IsProposed(edits map[string]object.Edit) (message string, proposed bool, err error) {
	if !o.Tip.Proposed.Exists() || o.Branch.Commit.IsZero() {
		return "", false, nil
	}
	commit, err := o.Reader.Commit(o.Tip.Proposed.Commit)
	if err != nil || !slices.Equal(commit.Parents, []plumbing.Hash{o.Branch.Commit}) {
		return "", false, err
	}
	dry, err := readDrySHA(o.Reader, commit.Tree, o.Branch.At(branch.MetadataFile))
	if err != nil || dry == "" || dry == o.Tip.DrySHA {
		return "", false, err
	}
	got := map[string]object.Entry{}
	err = object.DiffTrees(o.Reader, o.Branch.Tree, commit.Tree, object.WalkOptions{}, func(c object.Change) error {
		if !isMetadata(c.Path) {
			got[c.Path] = c.New
		}
		return nil
	})
	if err != nil {
		return "", false, err
	}
	want := map[string]object.Entry{}
	for name, edit := range edits {
		same, exists, err := o.Branch.Equals(name, edit.Hash())
		switch {
		case err != nil:
			return "", false, err
		case isMetadata(name), !edit.Remove && same, edit.Remove && !exists:
		case edit.Remove:
			want[name] = object.Entry{}
		default:
			want[name] = object.Entry{Mode: filemode.Regular,
				Hash: edit.Hash()}
		}
	}
	same := maps.EqualFunc(got, want, func(a, b object.Entry) bool { return a.Hash == b.Hash && a.Mode == b.Mode })
	return commit.Message, same, nil
}

// Propose commits a change on top of the output branch, which it creates if necessary, and moves the proposed branch to
// it. It returns [repo.ErrLostRace] if one of the two branches has moved.
func (o *Output) Propose(ctx context.Context, c Change) (p Pushed, err error) {
	p = o.start()
	var first []repo.Update
	if p.Base.IsZero() {
		if err := o.seed(&p, c.Readme); err != nil {
			return p, fmt.Errorf("write the output: %w", err)
		}
		first = append(first, repo.Update{Ref: o.ref(), New: p.Base})
	}
	if err := o.edit(&p, c); err != nil {
		return p, err
	}
	if err := o.commit(&p, c); err != nil {
		return p, err
	}
	return p, o.propose(ctx, p.w, p.Commit, first...)
}

// ProposeNothing moves the proposed branch to the output branch.
func (o *Output) ProposeNothing(ctx context.Context) error {
	return o.propose(ctx, object.NewWriter(o.Reader), o.Branch.Commit)
}

// propose moves the proposed branch to a commit. It returns [repo.ErrLostRace] if it or the output branch has moved.
func (o *Output) propose(ctx context.Context, w *object.Writer, commit plumbing.Hash, first ...repo.Update) error {
	if commit == o.Tip.Proposed.Commit {
		return nil
	}
	updates := append(first, repo.Update{Ref: "refs/heads/" + o.Inputs.Pipeline.Spec.Output.ProposedBranch(),
		Old: o.Tip.Proposed.Value, New: commit})
	if len(first) == 0 {
		active := o.Tip.Output
		updates = append(updates, repo.Update{Ref: active.Ref, Old: active.Value, New: active.Value})
	}
	return o.Pusher.Push(ctx, w, updates...)
}

// seed makes the first commit of a new output branch, because promotion needs a branch to promote to. The commit has no
// manifests, so nothing is applied.
func (o *Output) seed(p *Pushed, readme []byte) error {
	in := o.Inputs
	output, name := &in.Pipeline.Spec.Output, in.Pipeline.Metadata.Name
	inv := branch.Inventory{Version: branch.InventoryVersion, Pipeline: name,
		Root: []branch.FileEntry{{Path: branch.AttributesFile}, {Path: branch.ReadmeFile}}}
	data, err := branch.EncodeJSON(inv)
	if err != nil {
		return err
	}
	p.tree, err = p.w.EditTree(plumbing.ZeroHash, map[string]object.Edit{
		o.Branch.At(branch.ReadmeFile):     {Data: readme},
		o.Branch.At(branch.AttributesFile): {Data: []byte(branch.Attributes)},
		o.Branch.At(branch.InventoryFile):  {Data: data}, o.Branch.At(branch.UnitsFile): {Data: []byte("[]\n")},
	})
	if err != nil {
		return err
	}
	p.Base, err = o.Writer.Commit(p.w, p.tree,
		fmt.Sprintf("Start %s\n\nNothing is rendered here yet. Proposals of pipeline %s are on %s.\n\n%s",
			output.Branch, name, output.ProposedBranch(), in.trailers()))
	return err
}
