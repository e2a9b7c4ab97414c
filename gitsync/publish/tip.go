package publish

import (
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Tip has the fetched tips of the output's repository.
type Tip struct {
	Output repo.Tip // the output branch

	// With promotion only:
	Proposed, Inputs repo.Tip
	DrySHA           string    // the drySha on the output branch, or ""
	Lock             *LockFile // the pipeline's lock file at Inputs, or nil
}

// Refs returns the refs to fetch from the output's repository.
func Refs(output *pipeline.Output) []repo.Ref {
	refs := []repo.Ref{{Name: "refs/heads/" + output.Branch, Optional: true}}
	if output.Promotion.Mode.Proposes() {
		refs = append(refs, repo.Ref{Name: "refs/heads/" + output.ProposedBranch(), Optional: true},
			repo.Ref{Name: inputsRef, Optional: true})
	}
	return refs
}

// TipOf converts the tips of [Refs] to a Tip.
func TipOf(tips []repo.Tip) Tip {
	t := Tip{Output: tips[0]}
	if len(tips) > 1 {
		t.Proposed, t.Inputs = tips[1], tips[2]
	}
	return t
}

// ReadPromotion reads the lock file and the drySha, to compare the next proposal with.
func (t *Tip) ReadPromotion(rd *object.Reader, b *branch.Branch, pipeline string) (err error) {
	if !b.Commit.IsZero() {
		if t.DrySHA, err = readDrySHA(rd, b.Tree, b.At(branch.MetadataFile)); err != nil {
			return err
		}
	}
	t.Lock, err = readLock(rd, t.Inputs, pipeline)
	return err
}
