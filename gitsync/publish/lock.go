package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/inputs/chart"
)

// A proposal names the commit that it was rendered from, its drySha. gitops-promoter proposes nothing as long as the
// drySha stays the same. An input commit cannot be the drySha, because there may be several sources, and the pipeline
// and the version of agentry matter too. So a lock file on a branch of the output's repository lists everything that a
// proposal is rendered from, and the commit that adds this file is the drySha. See docs/promotion.md.
const (
	// InputsBranch is the branch with the lock files.
	InputsBranch = "agentry/inputs"
	inputsRef    = "refs/heads/" + InputsBranch
	// lockSuffix must not be .yaml, .yml or .json, which Argo CD would load as manifests.
	lockSuffix = ".lock"
)

// LockFile is PIPELINE.lock: the resolved inputs of a pipeline.
type LockFile struct {
	Version  int    `json:"version"`
	Pipeline string `json:"pipeline"`
	// Sources are the input commits.
	Sources []branch.SourceCommit `json:"sources"`
	// Charts are the fetched charts.
	Charts []chart.Pinned `json:"charts,omitempty"`
	// Spec is the SHA-256 of the fields of the pipeline that affect rendering.
	Spec string `json:"spec"`
	// Agentry is the version of agentry.
	Agentry string `json:"agentry"`
	// Corrects is a commit of the output branch that was edited by hand, so that it differs from the render of these
	// inputs.
	Corrects string `json:"corrects,omitempty"`
}

const lockVersion = 1

// SameSources reports whether the lock file has the same commits and charts as the inputs. l may be nil.
func (l *LockFile) SameSources(in *Inputs) bool {
	return l != nil && slices.Equal(l.Sources, in.SourceCommits()) && slices.Equal(l.Charts, in.Charts)
}

// Pins returns the charts in the lock file, or nil without a lock file: l may be nil.
func (l *LockFile) Pins() []chart.Pinned {
	if l == nil {
		return nil
	}
	return slices.Concat([]chart.Pinned{}, l.Charts)
}

// Commits returns the commits of a source in the lock file. l may be nil. The result is untrusted: anyone who can write
// to the branch may have chosen it.
func (l *LockFile) Commits(url, ref string) []plumbing.Hash {
	var out []plumbing.Hash
	if l != nil {
		for _, s := range l.Sources {
			if s.Ref == ref && pipeline.SameRepository(s.URL, url) && plumbing.IsHash(s.Commit) {
				out = append(out, plumbing.NewHash(s.Commit))
			}
		}
	}
	return out
}

// lockFile returns the lock file of these inputs.
func (in *Inputs) lockFile() *LockFile {
	return &LockFile{Version: lockVersion, Pipeline: in.Pipeline.Metadata.Name, Sources: in.SourceCommits(),
		Charts: in.Charts, Spec: in.renderDigest(), Agentry: in.Version}
}

// renderDigest returns the SHA-256 of the specification without the fields that never affect rendering: the schedule,
// limits, notifications, and the access to repositories. The lock file has the input commits in a field of their own.
func (in *Inputs) renderDigest() string {
	s := in.Pipeline.Spec
	s.Suspend, s.Interval, s.ForEach, s.Charts, s.Limits, s.Rollout, s.Notify = false, nil, "", pipeline.Charts{},
		pipeline.Limits{}, pipeline.Rollout{}, nil
	s.Output = pipeline.Output{Path: s.Output.Path}
	s.Sources = slices.Clone(s.Sources)
	for i, src := range s.Sources {
		s.Sources[i] = pipeline.Source{Name: src.Name, Paths: src.Paths, Build: src.Build, Tenant: src.Tenant}
	}
	return configDigest(&s)
}

func lockName(pipeline string) string { return pipeline + lockSuffix }

// readLock returns the lock file of a pipeline at a tip of the InputsBranch, or nil if it is missing or unreadable.
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
	About string    // describes the inputs for human readers
	Since time.Time // see [repo.Repo.FetchSince]
}

// NextLock returns the lock file that must be written before a proposal, or nil if the tip has it. output is the tip of
// the output branch. If there is nothing to propose, only changed sources make a new lock file: otherwise replicas of
// two versions would replace each other's lock files forever.
func (in *Inputs) NextLock(tip *Tip, output plumbing.Hash, proposing bool) *LockFile {
	had, want := tip.Lock, in.lockFile()
	taken := tip.Inputs.Commit.String() == tip.DrySHA // its commit is the drySha of the output branch
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

// DryCommit returns the commit that would add the lock file if nobody else writes one. It does not push it.
func (l Lock) DryCommit(inputs repo.Tip) (plumbing.Hash, error) {
	rd := l.Repo.Reader()
	defer rd.Close()
	return lockCommit(l.Writer, []*lockEntry{{Lock: l}})(rd, object.NewWriter(rd), inputs)
}

// writeLocks adds lock files to the branch in one commit, and returns a commit with all of them.
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

// lockCommit returns a function that makes the commit with the lock files on top of a tip.
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

// lockMessage returns the commit message, with the input commits as trailers.
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
			if trailers := fmt.Sprintf("Agentry-Source-Repo: %s\nAgentry-Source-Commit: %s\n", s.URL,
				s.Commit); !slices.Contains(seen, trailers) {
				seen = append(seen, trailers)
				b.WriteString(trailers)
			}
		}
	}
	fmt.Fprintf(&b, "Agentry-Version: %s\n", batch[0].File.Agentry)
	return b.String()
}

// inputsReadme explains the branch to its readers.
const inputsReadme = `# What agentry renders from

Each file PIPELINE.lock names the commits, the configuration and the version of agentry that a
pipeline renders from. Proposals on branches that end in -next name a commit of this branch as
their drySha: it changes whenever one of these does. ` + "`git log PIPELINE.lock`" + ` tells what was
rendered and when; the messages name the commits. Nothing reads these files to apply them, and
agentry writes them again if they are gone.
`
