package gitsync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
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
	branch := repo.Update{Ref: "refs/heads/" + p.pipeline.Spec.Output.Branch, Old: p.tip.branch.Value, New: commit}
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

// commit makes the commit. Its date is that of the newest input commit, so that every
// replica makes the same one.
func (p *pass) commit(w *object.Writer, tree plumbing.Hash) (commit plumbing.Hash, message string, err error) {
	if message, err = p.message(); err != nil {
		return commit, "", err
	}
	author := p.author()
	var parents []plumbing.Hash
	if !p.branch.Commit.IsZero() {
		parents = append(parents, p.branch.Commit)
	}
	commit, err = w.Commit(object.CommitOptions{Tree: tree, Parents: parents, Author: author, Committer: author, Message: message, Sign: p.sign})
	return commit, message, err
}

func (p *pass) author() object.Signature {
	newest := foreigntext.SafeDate(p.commits[0].Committer.When)
	for _, c := range p.commits[1:] {
		if when := foreigntext.SafeDate(c.Committer.When); when.After(newest) {
			newest = when
		}
	}
	// The pipeline is valid, so this is Name <mail>.
	name, mail, _ := strings.Cut(strings.TrimSuffix(p.pipeline.Spec.Output.Commit.Author, ">"), " <")
	return object.Signature{Name: name, Email: mail, When: newest.UTC()}
}

// message executes the pipeline's template and adds the trailers. A template that fails
// on these data must not stop what it describes.
func (p *pass) message() (string, error) {
	data := p.messageData()
	text, err := pipeline.FormatMessage(p.pipeline.Spec.Output.Commit.Message, data)
	if err != nil {
		p.warn(diag.PipelineInvalid, "", "correct the template", "spec.output.commit.message: %v; the default message is used", err)
		if text, err = pipeline.FormatMessage(pipeline.DefaultMessage, data); err != nil {
			return "", err
		}
	}
	return strings.TrimRight(strings.ReplaceAll(text, "\x00", ""), "\n") + "\n\n" + p.trailers(), nil
}

// messageData is what the templates of messages see.
func (p *pass) messageData() pipeline.Message {
	data := pipeline.Message{Pipeline: p.pipeline.Metadata.Name}
	for i, c := range p.commits {
		subject, _ := foreigntext.SplitMessage(c.Message)
		data.Sources = append(data.Sources, pipeline.MessageSource{
			URL: p.sources[i].Repo.URL(), Commit: c.Hash.String(), Subject: subject, Author: foreigntext.Person(c.Author),
		})
	}
	for _, plan := range p.plan {
		for state, list := range map[UnitState]*[]string{UnitAdded: &data.Added, UnitChanged: &data.Changed, UnitRemoved: &data.Removed, UnitHeld: &data.Held} {
			if plan.state == state {
				*list = append(*list, plan.name)
			}
		}
	}
	return data
}

// trailers say where a commit comes from, for people and for agentry itself.
func (p *pass) trailers() string {
	var b strings.Builder
	for i, c := range p.commits {
		fmt.Fprintf(&b, "Agentry-Source-Repo: %s\nAgentry-Source-Commit: %s\n", p.sources[i].Repo.URL(), c.Hash)
	}
	fmt.Fprintf(&b, "Agentry-Version: %s\nAgentry-Config-Digest: %s\n", p.options.Version, p.configDigest())
	var authors []string
	for _, c := range p.commits {
		who := foreigntext.Person(c.Author)
		if !strings.HasPrefix(who, "<") && !slices.Contains(authors, who) {
			authors = append(authors, who)
			fmt.Fprintf(&b, "Co-authored-by: %s\n", who)
		}
	}
	return b.String()
}

// configDigest is the SHA-256 of the pipeline's specification.
func (p *pass) configDigest() string {
	data, err := json.Marshal(p.pipeline.Spec)
	if err != nil {
		return "unknown" // a Pipeline holds nothing that does not encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
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
