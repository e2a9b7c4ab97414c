package plan

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// allowTrailer in the message of an input commit lifts the deletion guard for it.
const allowTrailer = "Agentry-Allow-Deletions"

// count is a number of units and of workload objects.
type count struct{ units, workloads int }

// guard refuses a commit that deletes more than a share of the units or of the workload objects, and at least
// two.
func (p *Plan) guard(f *Findings) error {
	if p.Branch.Inventory == nil {
		return nil
	}
	percent, err := p.Pipeline.Spec.Limits.MaxDeletions()
	if err != nil {
		return err
	}
	gone, err := p.deletions()
	if err != nil || gone.units < 2 && gone.workloads < 2 || p.allowsDeletions() {
		return err
	}
	all, err := p.existing()
	if err != nil {
		return err
	}
	for _, n := range []struct {
		what         string
		gone, before int
	}{{"units", gone.units, all.units}, {"workload objects", gone.workloads, all.workloads}} {
		if n.gone >= 2 && n.gone*100 > percent*n.before {
			f.refuse(diag.DeletionGuard, "", p.allowHint(),
				"the commit would delete %d of %d %s, more than %d%%: nothing is written", n.gone, n.before, n.what, percent)
			return nil
		}
	}
	return nil
}

func (p *Plan) allowHint() string {
	id := p.Objects.Commits[0].Hash.String()
	return fmt.Sprintf("if that is meant, run sync with --allow-deletions %s, set limits.allowFor to it, or put the trailer %q into that commit's message", id, allowTrailer+": true")
}

// deletions counts what the commit deletes.
func (p *Plan) deletions() (n count, err error) {
	for i := range p.Units {
		u := &p.Units[i]
		if u.action == keep || !u.folder.Exists() {
			continue
		}
		if err := u.folder.Load(); err != nil {
			return n, err
		}
		if u.action == remove {
			n.units++
			n.workloads += u.folder.Workloads(nil)
			continue
		}
		rendered := map[string]bool{}
		for _, f := range u.rendered.Files {
			rendered[f.Path] = true
		}
		n.workloads += u.folder.Workloads(rendered)
	}
	return n, nil
}

// existing counts what the branch has.
func (p *Plan) existing() (n count, err error) {
	for _, u := range p.Branch.Units {
		if !u.Exists() {
			continue
		}
		if err := u.Load(); err != nil {
			return n, err
		}
		n.units++
		n.workloads += u.Workloads(nil)
	}
	return n, nil
}

// allowsDeletions reports whether somebody allowed deletions for one of the input commits.
func (p *Plan) allowsDeletions() bool {
	for _, c := range p.Objects.Commits {
		id := c.Hash.String()
		if id == p.AllowDeletions || id == p.Pipeline.Spec.Limits.AllowFor {
			return true
		}
		for _, t := range foreigntext.Trailers(c.Message) {
			if strings.EqualFold(t.Key, allowTrailer) && t.Value == "true" {
				return true
			}
		}
	}
	return false
}

// refuseOldSecrets refuses a commit that would keep a folder with secrets in clear if the pipeline's secrets
// policy does not allow them any more.
func (p *Plan) refuseOldSecrets(f *Findings) error {
	if p.Pipeline.Spec.Secrets.Policy != pipeline.SecretsReference {
		return nil
	}
	for i := range p.Units {
		u := &p.Units[i]
		if u.action != keep || !u.folder.Exists() || u.State == UnitUnchanged {
			continue
		}
		if err := u.folder.Load(); err != nil {
			return err
		}
		if u.folder.Inventory.Secrets != pipeline.SecretsPlaintext {
			continue
		}
		f.refuse(diag.SecretsHeld, p.Branch.At(u.Name), "correct its errors or unpause it, so that it is rendered anew; or keep the policy plaintext",
			"unit %s is %s and holds secrets in clear, which the policy reference does not allow: nothing is written", u.Name, u.State)
	}
	return nil
}

// RefuseAdoption refuses to write to a path that has files of others and no inventory, unless the pipeline
// adopts them. The branch must be open.
func RefuseAdoption(in Inputs, url string) (f Findings) {
	output := &in.Pipeline.Spec.Output
	hint := "choose another branch or path, or set output.adopt: true to move in beside the files that are there"
	if in.Pipeline.Spec.ReadsOutput() {
		hint = "choose a branch for the output that no source reads"
	}
	if in.Branch.HasOthers && !output.Adopt {
		f.refuse(diag.AdoptionRefused, "", hint, "branch %s of %s holds files at %q and no inventory of agentry: nothing is written", output.Branch, url, output.Path)
	}
	return f
}
