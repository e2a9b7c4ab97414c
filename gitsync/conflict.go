package gitsync

import (
	"github.com/agentry-dev/agentry/generator/diag"
)

// holdConflicts holds units that would be written with an object that is in a folder which stays
// as it is: applied together, one of the two would be refused. What is rendered anew for several
// units is known to the generator.
func (d decider) holdConflicts() error {
	owners := map[string]string{} // units by object
	for i := range d.plan {
		if err := d.own(owners, &d.plan[i]); err != nil {
			return err
		}
	}
	for again := len(owners) > 0; again; {
		again = false
		for i := range d.plan {
			plan := &d.plan[i]
			object, owner := plan.conflict(owners)
			if owner == "" {
				continue
			}
			agent := d.set.Get(agentID(plan.name))
			found := agent.Diag(diag.Error, diag.NameConflict, "metadata.name", "%s would be rendered, and is on the output branch for GrafanaAgent %s, whose folder stays as it is", object, owner)
			found.Units = []string{plan.name}
			d.report.Diags = append(d.report.Diags, found)
			plan.fail(found.Message)
			again = true
			if err := d.own(owners, plan); err != nil {
				return err
			}
		}
	}
	return nil
}

// own notes the objects in a folder that stays as it is.
func (d decider) own(owners map[string]string, plan *unitPlan) error {
	if plan.state != UnitHeld && plan.state != UnitPaused || !plan.folder.Exists() {
		return nil
	}
	if err := plan.folder.Load(); err != nil {
		return err
	}
	for _, f := range plan.folder.Inventory.Files {
		if f.Object != "" {
			owners[f.Object] = plan.name
		}
	}
	return nil
}

// conflict finds an object of a unit that is to be written which is another's.
func (u *unitPlan) conflict(owners map[string]string) (object, owner string) {
	if u.action != write {
		return "", ""
	}
	for _, f := range u.unit.Files {
		if o := owners[f.Object.String()]; f.Manifest && o != "" && o != u.name {
			return f.Object.String(), o
		}
	}
	return "", ""
}

// fail keeps a unit as it is on the branch, or out of it.
func (u *unitPlan) fail(reason string) {
	u.hold(reason)
	if !u.folder.Exists() {
		u.state = UnitLeftOut
	}
}
