package gitsync

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
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

// proposedRef is the ref of the branch that proposals go to.
func (s *Syncer) proposedRef() string { return "refs/heads/" + s.pipeline.Spec.Output.ProposedBranch() }

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

// isMetadata reports whether a file says what the payload is and is none of it.
func isMetadata(name string) bool {
	base := path.Base(name)
	return base == branch.MetadataFile || base == branch.ReadmeFile || base == branch.AttributesFile || strings.Contains("/"+name, "/"+path.Dir(branch.InventoryFile)+"/")
}

// stands reports whether the change is proposed already: one commit on top of the output
// branch that has its payload and nothing else.
func (p *pass) stands(c *change) (bool, error) {
	if !p.tip.Proposed.Exists() || p.branch.Commit.IsZero() {
		return false, nil
	}
	commit, err := p.reader.Commit(p.tip.Proposed.Commit)
	if err != nil || !slices.Equal(commit.Parents, []plumbing.Hash{p.branch.Commit}) {
		return false, err
	}
	dry, err := publish.ReadDrySHA(p.reader, commit.Tree, p.branch.At(branch.MetadataFile))
	if err != nil || dry == "" || dry == p.tip.DrySHA {
		return false, err
	}
	is := map[string]object.Entry{}
	err = object.DiffTrees(p.reader, p.branch.Tree, commit.Tree, object.WalkOptions{}, func(c object.Change) error {
		if !isMetadata(c.Path) {
			is[c.Path] = c.New
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	shall := map[string]object.Entry{}
	for name, edit := range c.edits {
		same, exists, err := p.branch.Equals(name, edit.Data)
		switch {
		case err != nil:
			return false, err
		case isMetadata(name), !edit.Remove && same, edit.Remove && !exists:
		case edit.Remove:
			shall[name] = object.Entry{}
		default:
			shall[name] = object.Entry{Mode: filemode.Regular, Hash: plumbing.ComputeHash(plumbing.BlobObject, edit.Data)}
		}
	}
	same := maps.EqualFunc(is, shall, func(a, b object.Entry) bool { return a.Hash == b.Hash && a.Mode == b.Mode })
	if same {
		p.report.Proposed.Message = commit.Message
	}
	return same, nil
}

// compareProposal decides what is to be done about the proposed branch. Before a change is
// proposed, what it is rendered from is written down.
func (p *pass) compareProposal(ctx context.Context, c *change, unchanged bool) (done bool, err error) {
	if c.nothing = unchanged; unchanged {
		return true, nil
	}
	if c.stands, err = p.stands(c); err != nil {
		return false, fmt.Errorf("read %s: %w", p.pipeline.Spec.Output.ProposedBranch(), err)
	}
	if c.stands {
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
		err = p.propose(ctx, object.NewWriter(p.reader), commit)
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

// proposeChange commits a change on top of the output branch, which it makes first if there
// is none.
func (p *pass) proposeChange(ctx context.Context, c *change) (plumbing.Hash, error) {
	w := object.NewWriter(p.reader)
	var first []repo.Update
	if p.branch.Commit.IsZero() {
		seed, tree, err := p.seed(w)
		if err != nil {
			return seed, fmt.Errorf("write the output: %w", err)
		}
		first = append(first, repo.Update{Ref: "refs/heads/" + p.pipeline.Spec.Output.Branch, New: seed})
		p.branch.Commit, p.branch.Tree = seed, tree
		p.report.Proposed.Base = seed.String()
	}
	tree, err := w.EditTree(p.branch.Tree, c.edits)
	if err != nil {
		return tree, fmt.Errorf("write the output: %w", err)
	}
	commit, message, err := p.commit(w, tree)
	if err != nil {
		return commit, fmt.Errorf("write the output: %w", err)
	}
	if err := p.propose(ctx, w, commit, first...); err != nil {
		return commit, err
	}
	p.report.Proposed.Message, p.report.Proposed.Data = message, p.messageData()
	dirs, err := p.folders(w, tree, c)
	if err != nil {
		return commit, err
	}
	p.settle(dirs)
	return commit, nil
}

// propose moves the proposed branch from where it was to a commit, provided that the output
// branch is where it was too.
func (p *pass) propose(ctx context.Context, w *object.Writer, commit plumbing.Hash, first ...repo.Update) error {
	if commit == p.tip.Proposed.Commit {
		return nil
	}
	updates := append(first, repo.Update{Ref: p.proposedRef(), Old: p.tip.Proposed.Value, New: commit})
	if len(first) == 0 {
		active := p.tip.Output
		updates = append(updates, repo.Update{Ref: active.Ref, Old: active.Value, New: active.Value})
	}
	return p.pusher.Push(ctx, w, updates...)
}

// seed is the first commit of an output branch that there is none of: whoever promotes wants
// a branch to promote to. It holds no manifest, so what applies it finds nothing to do.
func (p *pass) seed(w *object.Writer) (commit, tree plumbing.Hash, err error) {
	readme := p.readme()
	inv := branch.Inventory{Version: branch.InventoryVersion, Pipeline: p.pipeline.Metadata.Name, Sources: []branch.SourceCommit{}, Root: []branch.FileEntry{
		{Path: branch.AttributesFile, SHA256: branch.SHA256([]byte(attributes))}, {Path: branch.ReadmeFile, SHA256: branch.SHA256(readme)},
	}}
	data, err := publish.EncodeJSON(inv)
	if err != nil {
		return commit, tree, err
	}
	tree, err = w.EditTree(plumbing.ZeroHash, map[string]object.Edit{
		p.branch.At(branch.ReadmeFile): {Data: readme}, p.branch.At(branch.AttributesFile): {Data: []byte(attributes)},
		p.branch.At(branch.InventoryFile): {Data: data}, p.branch.At(branch.UnitsFile): {Data: []byte("[]\n")},
	})
	if err != nil {
		return commit, tree, err
	}
	message := fmt.Sprintf("Start %s\n\nNothing is rendered here yet. Proposals of pipeline %s are on %s.\n\n%s",
		p.pipeline.Spec.Output.Branch, p.pipeline.Metadata.Name, p.pipeline.Spec.Output.ProposedBranch(), p.renderedFrom().Trailers())
	commit, err = p.writer().Commit(w, tree, message)
	return commit, tree, err
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
