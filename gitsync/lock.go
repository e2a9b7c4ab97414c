package gitsync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// What is proposed names the commit that it was rendered from, its drySha, and
// gitops-promoter proposes nothing while that stays equal. No input commit will do: there
// may be several sources, and the pipeline and the version of agentry decide too. So all
// that a proposal is rendered from is written down in a file on a branch of the output's
// repository, and the commit that holds this file is the drySha. See docs/promotion.md.
const (
	inputsBranch = "agentry/inputs"
	inputsRef    = "refs/heads/" + inputsBranch
	// lockSuffix is of no manifest: Argo CD loads .yaml, .yml and .json.
	lockSuffix = ".lock"
)

// lockFile is PIPELINE.lock: the resolved inputs of a pipeline.
type lockFile struct {
	Version  int    `json:"version"`
	Pipeline string `json:"pipeline"`
	// Sources are the commits that are rendered.
	Sources []branch.SourceCommit `json:"sources"`
	// Spec is the SHA-256 of what in the pipeline decides the rendering.
	Spec string `json:"spec"`
	// Agentry is the version that renders.
	Agentry string `json:"agentry"`
	// Corrects is a commit of the output branch that differs from what was rendered from
	// these very inputs: somebody changed the branch by hand.
	Corrects string `json:"corrects,omitempty"`
}

const lockVersion = 1

// sameSources reports whether two locks are of the same commits.
func (l *lockFile) sameSources(other lockFile) bool { return slices.Equal(l.Sources, other.Sources) }

// lockFile is what this pass renders from.
func (p *pass) lockFile() lockFile {
	return lockFile{
		Version: lockVersion, Pipeline: p.pipeline.Metadata.Name, Sources: p.inventorySources(),
		Spec: p.renderDigest(), Agentry: p.options.Version,
	}
}

func (p *pass) inventorySources() []branch.SourceCommit {
	var out []branch.SourceCommit
	for i, src := range p.sources {
		out = append(out, branch.SourceCommit{URL: src.Repo.URL(), Ref: src.Ref.RepoRef().String(), Commit: p.commits[i].Hash.String()})
	}
	return out
}

// renderDigest is the SHA-256 of what in the specification decides the rendering.
func (p *pass) renderDigest() string {
	s := &p.pipeline.Spec
	decides := struct {
		Compatibility    pipeline.Compatibility
		OnInvalid        pipeline.OnInvalid
		DefaultNamespace string
		Paths            [][]string
		Path             string
		Operator         pipeline.Operator
		Secrets          pipeline.Secrets
		SDAggregator     pipeline.SDAggregator
		Integrations     []integration.Entry
	}{
		s.Compatibility, s.OnInvalid, s.DefaultNamespace, nil, s.Output.Path, s.Operator, s.Secrets, s.SDAggregator, s.Integrations,
	}
	for _, src := range s.Sources {
		decides.Paths = append(decides.Paths, src.Paths)
	}
	data, err := json.Marshal(decides)
	if err != nil {
		return "unknown" // a Pipeline holds nothing that does not encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func lockName(pipeline string) string { return pipeline + lockSuffix }

// readLock is the lock file of a pipeline at a commit of the inputs; nil when there is none
// that can be read.
func readLock(rd *object.Reader, tip repo.Tip, pipeline string) (*lockFile, error) {
	tree, err := treeOf(rd, tip)
	if err != nil || tree.IsZero() {
		return nil, err
	}
	data, err := branch.ReadFile(rd, tree, lockName(pipeline))
	if err != nil || data == nil {
		return nil, err
	}
	var l lockFile
	if json.Unmarshal(data, &l) != nil || l.Version != lockVersion {
		return nil, nil
	}
	return &l, nil
}

// lock returns a commit of the inputs that holds what this pass renders from, and makes it
// if need be. When nothing new is proposed it takes no new commit that another version or
// pipeline specification would lead to the same: replicas of two versions would take turns.
func (p *pass) lock(ctx context.Context, proposing bool) (plumbing.Hash, error) {
	tip, had, want := p.tip.inputs.Commit, p.tip.lock, p.lockFile()
	taken := tip.String() == p.tip.drySHA // whoever compares with the output branch sees no change
	current := had != nil && had.sameSources(want)
	if proposing {
		current = current && had.Spec == want.Spec && had.Agentry == want.Agentry && !taken
	}
	if current {
		return tip, nil
	}
	if proposing && taken {
		want.Corrects = p.branch.Commit.String()
	}
	e := &lockEntry{writer: p.writer(), lock: want, about: p.aboutInputs(), since: p.round}
	if p.options.DryRun {
		rd := e.repo.Reader()
		defer rd.Close()
		return lockCommit(e.writer, []*lockEntry{e})(rd, object.NewWriter(rd), p.tip.inputs)
	}
	var commit plumbing.Hash
	err := p.outside(ctx, func() (err error) {
		commit, err = p.batches.lock(ctx, e)
		return err
	})
	if err != nil {
		return commit, fmt.Errorf("write down the inputs on %s: %w", inputsBranch, err)
	}
	return commit, nil
}

// aboutInputs tells a person what the inputs are.
func (p *pass) aboutInputs() string {
	var b strings.Builder
	for i, c := range p.commits {
		subject, _ := foreigntext.SplitMessage(c.Message)
		fmt.Fprintf(&b, "- %s %s %s\n", p.sources[i].Repo.URL(), c.Hash, subject)
	}
	return b.String()
}

// writeLocks puts lock files on the branch in one commit, and returns a commit that holds all
// of them.
func writeLocks(ctx context.Context, wr writer, batch []*lockEntry) (plumbing.Hash, error) {
	slices.SortStableFunc(batch, func(a, b *lockEntry) int { return strings.Compare(a.lock.Pipeline, b.lock.Pipeline) })
	since := batch[0].since
	for _, e := range batch {
		if e.author.When.After(wr.author.When) {
			wr.author.When = e.author.When
		}
		if e.since.After(since) {
			since = e.since
		}
	}
	return wr.extend(ctx, inputsRef, since, lockCommit(wr, batch))
}

// lockCommit makes the commit on a tip.
func lockCommit(wr writer, batch []*lockEntry) func(*object.Reader, *object.Writer, repo.Tip) (plumbing.Hash, error) {
	return func(rd *object.Reader, w *object.Writer, tip repo.Tip) (plumbing.Hash, error) {
		old, err := treeOf(rd, tip)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		edits := map[string]object.Edit{}
		for _, e := range batch {
			data, err := encodeHydrator(e.lock)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			edits[lockName(e.lock.Pipeline)] = object.Edit{Data: data}
		}
		if !tip.Exists() {
			edits[branch.ReadmeFile] = object.Edit{Data: []byte(inputsReadme)}
		}
		tree, err := w.EditTree(old, edits)
		if err != nil || tree == old {
			return plumbing.ZeroHash, err
		}
		return wr.commit(w, tip, tree, lockMessage(batch))
	}
}

// lockMessage leads from the commit to the commits that it is about.
func lockMessage(batch []*lockEntry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Inputs of %s", batch[0].lock.Pipeline)
	if n := len(batch) - 1; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	b.WriteString("\n")
	for _, e := range batch {
		fmt.Fprintf(&b, "\n%s:\n%s", e.lock.Pipeline, e.about)
	}
	b.WriteString("\n")
	var seen []string
	for _, e := range batch {
		for _, s := range e.lock.Sources {
			if trailers := fmt.Sprintf("Agentry-Source-Repo: %s\nAgentry-Source-Commit: %s\n", s.URL, s.Commit); !slices.Contains(seen, trailers) {
				seen = append(seen, trailers)
				b.WriteString(trailers)
			}
		}
	}
	fmt.Fprintf(&b, "Agentry-Version: %s\n", batch[0].lock.Agentry)
	return b.String()
}

// inputsReadme is for the person who opens the branch.
const inputsReadme = `# What agentry renders from

Each file PIPELINE.lock names the commits, the configuration and the version of agentry that a
pipeline renders from. Proposals on branches that end in -next name a commit of this branch as
their drySha: it changes whenever one of these does. ` + "`git log PIPELINE.lock`" + ` tells what was
rendered and when; the messages name the commits. Nothing reads these files to apply them, and
agentry writes them again if they are gone.
`

// writer is how this pass writes to refs of the output's repository.
func (p *pass) writer() writer {
	return writer{repo: p.output, pusher: p.pusher, sign: p.sign, author: p.author()}
}

// lastCommits are the commits of a source that were rendered last, the best one first: what
// is proposed, so that a proposal stays while a source is away, and what is on the output
// branch.
func (p *pass) lastCommits(i int) []plumbing.Hash {
	src := p.sources[i]
	var out []plumbing.Hash
	if p.tip.lock != nil {
		for _, s := range p.tip.lock.Sources {
			if s.URL == src.Repo.URL() && s.Ref == src.Ref.RepoRef().String() && plumbing.IsHash(s.Commit) {
				out = append(out, plumbing.NewHash(s.Commit))
			}
		}
	}
	if base := p.baseOf(i); !base.IsZero() {
		out = append(out, base)
	}
	return out
}
