package publish

import (
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Tip is what was fetched of the output's repository.
type Tip struct {
	Output repo.Tip // the output branch

	// With promotion only:
	Proposed, Inputs repo.Tip
	DrySHA           string    // that the output branch names, if it does
	Lock             *LockFile // of the pipeline at Inputs; nil when there is none
}

// Refs are the refs of the output's repository that a pass starts from.
func Refs(output *pipeline.Output) []repo.Ref {
	refs := []repo.Ref{{Name: "refs/heads/" + output.Branch, Optional: true}}
	if output.Promotion.Mode.Proposes() {
		refs = append(refs, repo.Ref{Name: "refs/heads/" + output.ProposedBranch(), Optional: true}, repo.Ref{Name: inputsRef, Optional: true})
	}
	return refs
}

// TipOf takes the tips of [Refs].
func TipOf(tips []repo.Tip) Tip {
	t := Tip{Output: tips[0]}
	if len(tips) > 1 {
		t.Proposed, t.Inputs = tips[1], tips[2]
	}
	return t
}

// ReadPromotion reads what the next proposal of a pipeline is compared with.
func (t *Tip) ReadPromotion(rd *object.Reader, b *branch.Branch, pipeline string) (err error) {
	if !b.Commit.IsZero() {
		if t.DrySHA, err = ReadDrySHA(rd, b.Tree, b.At(branch.MetadataFile)); err != nil {
			return err
		}
	}
	t.Lock, err = readLock(rd, t.Inputs, pipeline)
	return err
}
