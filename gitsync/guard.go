package gitsync

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
)

// allowTrailer in the message of an input commit lifts the deletion guard for it.
const allowTrailer = "Agentry-Allow-Deletions"

// guard refuses a commit that deletes more than a share of the units or of the workload
// objects, and at least two: an empty render is the extreme case of it.
func (p *pass) guard() error {
	if p.branch.Inventory == nil {
		return nil
	}
	percent, err := p.pipeline.Spec.Limits.MaxDeletions()
	if err != nil {
		return err
	}
	units, workloads, err := p.deletions()
	if err != nil || units < 2 && workloads < 2 || p.deletionsAllowed() {
		return err
	}
	existing, total, err := p.all()
	if err != nil {
		return err
	}
	for _, n := range []struct {
		what         string
		gone, before int
	}{{"units", units, existing}, {"workload objects", workloads, total}} {
		if n.gone >= 2 && n.gone*100 > percent*n.before {
			p.refuse(diag.DeletionGuard, "", p.allowHint(),
				"the commit would delete %d of %d %s, more than %d%%: nothing is written", n.gone, n.before, n.what, percent)
			return nil
		}
	}
	return nil
}

func (p *pass) allowHint() string {
	id := p.commits[0].Hash.String()
	return fmt.Sprintf("if that is meant, run sync with --allow-deletions %s, set limits.allowFor to it, or put the trailer %q into that commit's message", id, allowTrailer+": true")
}

// deletions counts the units and workload objects that the commit deletes.
func (p *pass) deletions() (units, workloads int, err error) {
	for i := range p.plan {
		plan := &p.plan[i]
		if plan.action == keep || !plan.folder.Exists() {
			continue
		}
		if err := plan.folder.Load(); err != nil {
			return 0, 0, err
		}
		if plan.action == remove {
			units++
			workloads += plan.folder.Workloads(nil)
			continue
		}
		rendered := map[string]bool{}
		for _, f := range plan.unit.Files {
			rendered[f.Path] = true
		}
		workloads += plan.folder.Workloads(rendered)
	}
	return units, workloads, nil
}

// all counts the units and workload objects that the branch has.
func (p *pass) all() (units, workloads int, err error) {
	for _, u := range p.branch.Units {
		if !u.Exists() {
			continue
		}
		if err := u.Load(); err != nil {
			return 0, 0, err
		}
		units++
		workloads += u.Workloads(nil)
	}
	return units, workloads, nil
}

// deletionsAllowed reports whether somebody allowed it for one of these input commits.
func (p *pass) deletionsAllowed() bool {
	for _, c := range p.commits {
		id := c.Hash.String()
		if id == p.options.AllowDeletions || id == p.pipeline.Spec.Limits.AllowFor {
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
