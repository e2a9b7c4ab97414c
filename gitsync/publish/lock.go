package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/gitsync/branch"
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
	// InputsBranch is that branch.
	InputsBranch = "agentry/inputs"
	inputsRef    = "refs/heads/" + InputsBranch
	// lockSuffix is of no manifest: Argo CD loads .yaml, .yml and .json.
	lockSuffix = ".lock"
)

// LockFile is PIPELINE.lock: the resolved inputs of a pipeline.
type LockFile struct {
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

// SameSources reports whether a lock file, if there is one, is of the same commits.
func (l *LockFile) SameSources(in *Inputs) bool {
	return l != nil && slices.Equal(l.Sources, in.SourceCommits())
}

// Commits are the commits of a source in a lock file; there may be no lock file. Who can write to the branch could
// have written them.
func (l *LockFile) Commits(url, ref string) []plumbing.Hash {
	var out []plumbing.Hash
	if l != nil {
		for _, s := range l.Sources {
			if s.URL == url && s.Ref == ref && plumbing.IsHash(s.Commit) {
				out = append(out, plumbing.NewHash(s.Commit))
			}
		}
	}
	return out
}

// lockFile is what is rendered from.
func (in *Inputs) lockFile() *LockFile {
	return &LockFile{Version: lockVersion, Pipeline: in.Pipeline.Metadata.Name, Sources: in.SourceCommits(), Spec: in.renderDigest(), Agentry: in.Version}
}

// renderDigest is the SHA-256 of what in the specification decides the rendering.
func (in *Inputs) renderDigest() string {
	s := &in.Pipeline.Spec
	decides := struct {
		Compatibility    pipeline.Compatibility
		OnInvalid        pipeline.OnInvalid
		FailOn           pipeline.FailOn
		UnknownFields    pipeline.UnknownFields
		DefaultNamespace string
		Paths            [][]string
		Path             string
		Operator         pipeline.Operator
		Secrets          pipeline.Secrets
		SDAggregator     pipeline.SDAggregator
		Integrations     []integration.Entry
	}{
		s.Compatibility, s.OnInvalid, s.FailOn, s.UnknownFields, s.DefaultNamespace, nil, s.Output.Path, s.Operator, s.Secrets, s.SDAggregator, s.Integrations,
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
func readLock(rd *object.Reader, tip repo.Tip, pipeline string) (*LockFile, error) {
	tree, err := treeOf(rd, tip)
	if err != nil || tree.IsZero() {
		return nil, err
	}
	data, err := branch.ReadFile(rd, tree, lockName(pipeline))
	if err != nil || data == nil {
		return nil, err
	}
	var l LockFile
	if json.Unmarshal(data, &l) != nil || l.Version != lockVersion {
		return nil, nil
	}
	return &l, nil
}

// Lock is a lock file to write.
type Lock struct {
	Writer
	File  *LockFile
	About string    // the inputs, for people
	Since time.Time // what the remote answered after it holds
}

// NextLock returns the lock file that is to be written before the inputs are named by what is
// proposed, or, when nothing is, by what stands; nil when the tip holds them. output is the tip
// of the output branch. When nothing new is proposed it takes no new commit that another version
// or pipeline specification would lead to the same: replicas of two versions would take turns.
func (in *Inputs) NextLock(tip *Tip, output plumbing.Hash, proposing bool) *LockFile {
	had, want := tip.Lock, in.lockFile()
	taken := tip.Inputs.Commit.String() == tip.DrySHA // whoever compares with the output branch sees no change
	current := had.SameSources(in)
	if proposing {
		current = current && had.Spec == want.Spec && had.Agentry == want.Agentry && !taken
	}
	if current {
		return nil
	}
	if proposing && taken {
		want.Corrects = output.String()
	}
	return want
}

// DryCommit is the commit that writing the lock file makes if nobody else writes one; it is
// not pushed.
func (l Lock) DryCommit(inputs repo.Tip) (plumbing.Hash, error) {
	rd := l.Repo.Reader()
	defer rd.Close()
	return lockCommit(l.Writer, []*lockEntry{{Lock: l}})(rd, object.NewWriter(rd), inputs)
}

// writeLocks puts lock files on the branch in one commit, and returns a commit that holds all
// of them.
func writeLocks(ctx context.Context, wr Writer, batch []*lockEntry) (plumbing.Hash, error) {
	slices.SortStableFunc(batch, func(a, b *lockEntry) int { return strings.Compare(a.File.Pipeline, b.File.Pipeline) })
	since := batch[0].Since
	for _, e := range batch {
		if e.Author.When.After(wr.Author.When) {
			wr.Author.When = e.Author.When
		}
		if e.Since.After(since) {
			since = e.Since
		}
	}
	return wr.extend(ctx, inputsRef, since, lockCommit(wr, batch))
}

// lockCommit makes the commit on a tip.
func lockCommit(wr Writer, batch []*lockEntry) func(*object.Reader, *object.Writer, repo.Tip) (plumbing.Hash, error) {
	return func(rd *object.Reader, w *object.Writer, tip repo.Tip) (plumbing.Hash, error) {
		old, err := treeOf(rd, tip)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		edits := map[string]object.Edit{}
		for _, e := range batch {
			data, err := branch.EncodeJSON(e.File)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			edits[lockName(e.File.Pipeline)] = object.Edit{Data: data}
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
	fmt.Fprintf(&b, "Inputs of %s", batch[0].File.Pipeline)
	if n := len(batch) - 1; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	b.WriteString("\n")
	for _, e := range batch {
		fmt.Fprintf(&b, "\n%s:\n%s", e.File.Pipeline, e.About)
	}
	b.WriteString("\n")
	var seen []string
	for _, e := range batch {
		for _, s := range e.File.Sources {
			if trailers := fmt.Sprintf("Agentry-Source-Repo: %s\nAgentry-Source-Commit: %s\n", s.URL, s.Commit); !slices.Contains(seen, trailers) {
				seen = append(seen, trailers)
				b.WriteString(trailers)
			}
		}
	}
	fmt.Fprintf(&b, "Agentry-Version: %s\n", batch[0].File.Agentry)
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
