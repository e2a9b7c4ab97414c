package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// allowTrailer in the message of an input commit lifts the deletion guard for it.
const allowTrailer = "Agentry-Allow-Deletions"

// guard refuses a commit that deletes too much, in total or from one unit that stays. It notes in each unit what the
// unit loses.
func (p *Plan) guard(f *Findings) error {
	if p.Branch.Inventory == nil {
		return nil
	}
	percent, err := p.Pipeline.Spec.Limits.MaxDeletions()
	if err != nil {
		return err
	}
	var total loss
	reason := ""
	for i := range p.Units {
		u := &p.Units[i]
		if u.action == keep || !u.folder.Exists() {
			continue
		}
		lost, err := lossOf(u)
		if err != nil {
			return err
		}
		u.Lost = lost.String()
		switch {
		case reason != "":
		case lost.isTooMuch(percent):
			reason = fmt.Sprintf("take %s from %s, more than %d%%", lost.shares(), titleOf(u.Name), percent)
		case lost.emptied != "" && percent < 100:
			reason = fmt.Sprintf("take all jobs from %s of %s", lost.emptied, titleOf(u.Name))
		}
		total.add(lost)
	}
	if !total.isLarge() || p.AllowsDeletions(p.Objects.Commits) {
		return nil
	}
	for i := range p.Units {
		if u := &p.Units[i]; u.action == keep && u.folder.Exists() {
			kept, err := lossOf(u)
			if err != nil {
				return err
			}
			total.add(kept)
		}
	}
	switch {
	case total.units.isAbove(percent):
		reason = fmt.Sprintf("delete %d of %d units, more than %d%%", total.units.gone, total.units.before, percent)
	case total.workloads.isAbove(percent):
		reason = fmt.Sprintf("delete %d of %d workload objects, more than %d%%", total.workloads.gone,
			total.workloads.before, percent)
	case reason == "" && total.isTooMuch(percent):
		reason = fmt.Sprintf("take %s from all units, more than %d%%", total.shares(), percent)
	}
	if reason != "" {
		f.refuse(diag.DeletionGuard, "", p.allowHint(), "the commit would %s: nothing is written", reason)
	}
	return nil
}

// refuseEmpty refuses a commit after which no unit of a GrafanaAgent is left, and a first commit without one.
func (p *Plan) refuseEmpty(f *Findings) {
	isLeft := func(u Unit) bool { return u.action != remove && !passthrough.IsUnit(u.Name) }
	isNew := p.Branch.Inventory == nil || len(p.Units) > 0
	// The GrafanaAgent may be in a file that cannot be read: the errors are reason enough for a first pass to write
	// nothing.
	isExplained := f.Refused != nil || len(p.Objects.Missing) > 0 ||
		p.Branch.Inventory == nil && p.Objects.Diags.HasErrors()
	if !isNew || isExplained || slices.ContainsFunc(p.Units, isLeft) || p.Pipeline.Spec.Limits.AllowEmpty ||
		p.AllowsDeletions(p.Objects.Commits) {
		return
	}
	for _, d := range p.Rendered.NoAgent(diag.Error,
		"correct sources[].paths; or set limits.allowEmpty if there should be none") {
		f.Diags.Add(d)
		f.RefuseFor(d)
	}
}

func (p *Plan) allowHint() string {
	if p.Objects.Commits[0].IsDraft {
		return fmt.Sprintf("to allow it, commit these files with the trailer %q in the message", allowTrailer+": true")
	}
	id := p.Objects.Commits[0].Hash.String()
	return fmt.Sprintf("to allow it, run sync with --allow-deletions %s, set limits.allowFor to that commit, or put "+
		"the trailer %q into its message", id, allowTrailer+": true")
}

// AllowsDeletions reports whether somebody allowed deletions for one of the input commits.
func (in *Inputs) AllowsDeletions(commits []*object.Commit) bool {
	for _, c := range commits {
		id := c.Hash.String()
		if id == in.AllowDeletions || id == in.Pipeline.Spec.Limits.AllowFor {
			return true
		}
		for _, t := range committext.Trailers(c.Message) {
			if strings.EqualFold(t.Key, allowTrailer) && t.Value == "true" {
				return true
			}
		}
	}
	return false
}

// refuseOldSecrets refuses a commit that would keep a folder with secrets in clear if the pipeline's secrets
// policies do not allow them any more.
func (p *Plan) refuseOldSecrets(f *Findings) error {
	now := p.Pipeline.Spec.Secrets
	if !now.Allows(secretref.Reference) && !now.Seals() {
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
		then := policiesOf(u)
		same := then.Policy == now.Policy && slices.EqualFunc(then.Rules, now.Rules, pipeline.SecretRule.Equal)
		if same || !then.Allows(secretref.Plaintext) {
			continue
		}
		f.refuse(diag.SecretsHeld, p.Branch.At(u.Name),
			"correct its errors or unpause it, so that it is rendered again; or revert the change of secrets.policy "+
				"and secrets.rules",
			"unit %s is %s and has files from before the secrets policy changed, which can hold secrets in clear: "+
				"nothing is written", u.Name, u.State)
	}
	return nil
}

// warnOfHistory warns when the output branch no longer contains secrets in clear, because its old commits still do.
func (p *Plan) warnOfHistory(f *Findings) {
	now := p.Pipeline.Spec.Secrets
	if now.Allows(secretref.Plaintext) {
		return
	}
	for i := range p.Units {
		u := &p.Units[i]
		if u.action == keep || u.State == UnitUnchanged || !u.folder.Exists() ||
			!policiesOf(u).Allows(secretref.Plaintext) {
			continue
		}
		f.warn(diag.SecretsInHistory, p.Branch.At(),
			"replace these secrets where they come from; or write to a new repository, and delete this one",
			"the secrets of this folder are in clear in older commits of branch %s, where everybody who can read it "+
				"finds them", p.Pipeline.Spec.Output.Branch)
		return
	}
}

// warnOfOtherKey warns of Secrets on the branch that were sealed with another key than this pipeline's.
func (p *Plan) warnOfOtherKey(f *Findings) {
	if p.otherKeys > 0 {
		f.warn(diag.OtherSealKey, p.Branch.At(),
			"give all replicas the same secrets.sops.hmacKeyFile; after a change of the key this warning comes once",
			"%d encrypted Secrets of branch %s were written with another HMAC key, so they are encrypted again: "+
				"replicas with different keys do so after each other, for ever", p.otherKeys,
			p.Pipeline.Spec.Output.Branch)
	}
}

// policiesOf returns the policies under which the folder of a unit, which is loaded, was rendered.
func policiesOf(u *Unit) pipeline.Secrets {
	return pipeline.Secrets{Policy: u.folder.Inventory.Secrets, Rules: u.folder.Inventory.SecretRules}
}

// RefuseAdoption refuses to write to a path that has files of others and no inventory or another pipeline's inventory,
// unless the pipeline adopts them. The branch must be open.
func RefuseAdoption(in Inputs, url string) (f Findings) {
	output := &in.Pipeline.Spec.Output
	hint := "choose another branch or path, or set output.adopt: true to move in beside the files that are there"
	if in.Pipeline.Spec.ReadsOutput() {
		hint = "choose a branch for the output that no source reads"
	}
	if in.Branch.HasOthers && !output.Adopt {
		f.refuse(diag.AdoptionRefused, "", hint,
			"branch %s of %s holds files at %q and no inventory of agentry: nothing is written", output.Branch, url,
			output.Path)
	}
	name := in.Pipeline.Metadata.Name
	if inv := in.Branch.Inventory; inv != nil && inv.Pipeline != name && !output.Adopt &&
		!output.Promotion.Mode.Proposes() {
		f.refuse(diag.OutputContested, "",
			"give one of the two another output.branch or output.path; or, if this pipeline was renamed or is to "+
				"take over the branch, set output.adopt: true until it has written once",
			"pipeline %s writes to branch %s of %s at %q, this one is %s: nothing is written",
			committext.OneLine(inv.Pipeline), output.Branch, url, output.Path, name)
	}
	return f
}
