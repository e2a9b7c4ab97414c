package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// place is a folder of a branch that a pipeline writes to.
type place struct {
	repository, branch, path string
}

func (o Output) place() place {
	return place{repository: RepositoryAddress(o.URL), branch: o.Branch, path: path.Clean(o.Path)}
}

// places returns all places that a pipeline writes to. With promotion, the proposed branch is one too.
func (o Output) places() []place {
	at := o.place()
	out := []place{at}
	if o.Promotion.Mode.Proposes() {
		at.branch = o.ProposedBranch()
		out = append(out, at)
	}
	return out
}

// Branches returns the branches that a pipeline writes.
func (o Output) Branches() []string {
	var out []string
	for _, at := range o.places() {
		out = append(out, at.branch)
	}
	return out
}

// Proposes reports whether a render goes to a branch beside the output branch first.
func (m PromotionMode) Proposes() bool { return m == PromoteNext || m == PromotePullRequest }

// ProposedBranch returns the branch with the proposal. Its name is the one that gitops-promoter expects: the
// branch's name with `-next`, and below that the output path unless it is the root, because each path is
// promoted separately.
func (o Output) ProposedBranch() string {
	return path.Join(o.Branch+"-next", o.Path)
}

// RepositoryAddress returns HOST[:PORT]/PATH of a repository, which is equal for all of its URLs: pipelines
// that write to it over HTTPS and over SSH would overwrite each other's files. If the URL is invalid, it
// returns the URL.
func RepositoryAddress(url string) string {
	normal, err := transport.NormaliseURL(url)
	if err != nil {
		return url // Validate reports it
	}
	_, address, _ := strings.Cut(normal, "://")
	return address
}

// SameRepository reports whether two URLs lead to one repository.
func SameRepository(a, b string) bool { return RepositoryAddress(a) == RepositoryAddress(b) }

// SameRef reports whether two sources read one ref of one repository.
func (s Source) SameRef(other Source) bool {
	return s.Ref == other.Ref && SameRepository(s.URL, other.URL)
}

// Within reports whether inner is outer or below it. Both must be clean and relative.
func Within(outer, inner string) bool {
	return outer == "." || inner == outer || strings.HasPrefix(inner, outer+"/")
}

// isReadBy reports whether the next pass would read the output as input.
func (o Output) isReadBy(s Source) bool {
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

// ReadsOutput reports whether the output goes to a branch that is read.
func (s *Spec) ReadsOutput() bool {
	return slices.ContainsFunc(s.Sources, func(src Source) bool {
		return src.Ref.branch() == s.Output.Branch && SameRepository(src.URL, s.Output.URL)
	})
}

// branch returns the name of the branch that the reference follows, or nothing.
func (r Ref) branch() string {
	if name, ok := strings.CutPrefix(r.Name, "refs/heads/"); ok {
		return name
	}
	return r.Branch
}

// RepoRef returns the ref in the form of package repo.
func (r Ref) RepoRef() repo.Ref {
	return repo.Ref{Branch: r.Branch, Tag: r.Tag, SemVer: r.SemVer, Commit: r.Commit, Name: r.Name}
}

// CheckProposedBranch refuses an output path whose proposed branch would be invalid: Git allows no ref that
// ends in .lock.
func (o Output) CheckProposedBranch() error {
	if !o.Promotion.Mode.Proposes() {
		return nil
	}
	if err := plumbing.NewBranchReferenceName(o.ProposedBranch()).Validate(); err != nil ||
		strings.HasSuffix(o.ProposedBranch(), ".lock") {
		return fmt.Errorf("output.promotion: %q is not the name of a branch, choose another output.path",
			o.ProposedBranch())
	}
	return nil
}
