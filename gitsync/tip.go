package gitsync

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// tip is what was fetched of the output's repository.
type tip struct {
	branch repo.Tip // the output branch

	// With promotion only:
	proposed, inputs repo.Tip
	drySHA           string    // that the branch names, if it does
	lock             *lockFile // of this pipeline at inputs; nil when there is none
}

// refuseAdoption stops where other people's files are and nobody said that we may move in.
func (p *pass) refuseAdoption() bool {
	if !p.branch.HasOthers || p.pipeline.Spec.Output.Adopt {
		return false
	}
	p.refuse(diag.AdoptionRefused, "", "choose another branch or path, or set output.adopt: true to move in beside the files that are there",
		"branch %s of %s holds files at %q and no inventory of agentry: nothing is written",
		p.pipeline.Spec.Output.Branch, p.output.URL(), p.pipeline.Spec.Output.Path)
	return true
}
