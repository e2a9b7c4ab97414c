package pipeline

import (
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// place is where a pipeline writes.
type place struct {
	repository, branch, path string
}

func (o Output) place() place {
	return place{repository: RepositoryAddress(o.URL), branch: o.Branch, path: path.Clean(o.Path)}
}

// places are all places that a pipeline writes to: with promotion, the branch that it
// proposes is its own too.
func (o Output) places() []place {
	at := o.place()
	out := []place{at}
	if o.Promotion.Mode.Proposes() {
		at.branch = o.ProposedBranch()
		out = append(out, at)
	}
	return out
}

// Proposes reports whether what was rendered goes to a branch beside the output branch first.
func (m PromotionMode) Proposes() bool { return m == PromoteNext || m == PromotePullRequest }

// ProposedBranch is the branch on which the output branch's next state is proposed, named as
// gitops-promoter wants it: `-next` after the branch's name, and below that the path on the
// branch, if it is not the root, since each of the paths is promoted by itself.
func (o Output) ProposedBranch() string {
	return path.Join(o.Branch+"-next", o.Path)
}

// RepositoryAddress is HOST[:PORT]/PATH of a repository, equal for all URLs of it over
// whatever protocol: two pipelines that reach it over HTTPS and over SSH would overwrite
// each other's files. What is no URL stands for itself.
func RepositoryAddress(url string) string {
	normal, err := transport.NormaliseURL(url)
	if err != nil {
		return url // Validate reports it.
	}
	_, address, _ := strings.Cut(normal, "://")
	return address
}

// contains reports whether inner is outer or lies below it; both are clean and relative.
func Within(outer, inner string) bool {
	return outer == "." || inner == outer || strings.HasPrefix(inner, outer+"/")
}

// among reports whether the output would be read as input of the next pass.
func (o Output) among(s Source) bool {
	for _, out := range o.places() {
		if out.repository != RepositoryAddress(s.URL) || out.branch != s.Ref.branch() {
			continue
		}
		for _, p := range s.Paths {
			if Within(path.Clean(p), out.path) {
				return true
			}
		}
	}
	return false
}

// branch is the name of the branch that the reference follows, or empty.
func (r Ref) branch() string {
	if name, ok := strings.CutPrefix(r.Name, "refs/heads/"); ok {
		return name
	}
	return r.Branch
}

// repoRef is the ref in the words of package repo.
func (r Ref) RepoRef() repo.Ref {
	return repo.Ref{Branch: r.Branch, Tag: r.Tag, SemVer: r.SemVer, Commit: r.Commit, Name: r.Name}
}

// CheckProposedBranch refuses an output path after which no branch can be named: Git allows no
// ref that ends in .lock.
func (o Output) CheckProposedBranch() error {
	if !o.Promotion.Mode.Proposes() {
		return nil
	}
	if err := plumbing.NewBranchReferenceName(o.ProposedBranch()).Validate(); err != nil || strings.HasSuffix(o.ProposedBranch(), ".lock") {
		return fmt.Errorf("output.promotion: %q is no name of a branch, choose another output.path", o.ProposedBranch())
	}
	return nil
}
