package publish

import (
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Tip is what was fetched from the output's repository.
type Tip struct {
	Output repo.Tip // the output branch

	// With promotion only:
	Proposed, Inputs repo.Tip
	DrySHA           string    // the drySha on the output branch, or ""
	Lock             *LockFile // the pipeline's lock file at Inputs, or nil
}

// Refs returns the refs of the output's repository that a pass fetches.
func Refs(output *pipeline.Output) []repo.Ref {
	refs := []repo.Ref{{Name: "refs/heads/" + output.Branch, Optional: true}}
	if output.Promotion.Mode.Proposes() {
		refs = append(refs, repo.Ref{Name: "refs/heads/" + output.ProposedBranch(), Optional: true},
			repo.Ref{Name: inputsRef, Optional: true})
	}
	return refs
}

// TipOf returns the tips of [Refs] as a Tip.
func TipOf(tips []repo.Tip) Tip {
	t := Tip{Output: tips[0]}
	if len(tips) > 1 {
		t.Proposed, t.Inputs = tips[1], tips[2]
	}
	return t
}

// ReadPromotion reads the lock file and the drySha, which the next proposal is compared with.
func (t *Tip) ReadPromotion(rd *object.Reader, b *branch.Branch, pipeline string) (err error) {
	if !b.Commit.IsZero() {
		if t.DrySHA, err = readDrySHA(rd, b.Tree, b.At(branch.MetadataFile)); err != nil {
			return err
		}
	}
	t.Lock, err = readLock(rd, t.Inputs, pipeline)
	return err
}
