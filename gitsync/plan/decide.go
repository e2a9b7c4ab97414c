package plan

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/gitsync/branch"
)

// decider makes the decisions about units.
type decider struct{ *Plan }

func (d decider) decide() error {
	seen := map[string]bool{}
	for _, u := range d.Rendered.Units {
		seen[u.Name] = true
		unit, err := d.rendered(u)
		if err != nil {
			return err
		}
		d.Units = append(d.Units, unit)
	}
	for name, folder := range d.Branch.Units {
		if !seen[name] {
			unit, err := d.gone(folder)
			if err != nil {
				return err
			}
			d.Units = append(d.Units, unit)
		}
	}
	slices.SortFunc(d.Units, func(a, b Unit) int { return strings.Compare(a.Name, b.Name) })
	return d.holdConflicts()
}

// rendered decides about a unit of the inputs.
func (d decider) rendered(u *generator.Unit) (Unit, error) {
	folder, err := d.Branch.Unit(u.Name)
	unit := Unit{Name: u.Name, rendered: u, folder: folder}
	if err != nil {
		return unit, err
	}
	return unit, d.compare(&unit)
}

// compare decides what becomes of the folder of a rendered unit.
func (d decider) compare(unit *Unit) error {
	u, exists := unit.rendered, unit.folder.Exists()
	unit.action = keep
	if d.Current[u] && !d.isUnsure() {
		unit.State = UnitUnchanged
		return nil
	}
	switch {
	case u.Paused:
		unit.State = UnitPaused
		return nil
	case u.Failed && exists:
		unit.State = UnitHeld
		return unit.folder.Load()
	case u.Failed:
		unit.State = UnitLeftOut
		return nil
	case len(u.Files) == 0 && !exists:
		unit.State = UnitUnchanged // there is nothing to render, and no folder
		return nil
	}
	if err := unit.folder.Load(); err != nil || !exists {
		unit.action, unit.State = write, UnitAdded
		return err
	}
	unit.action, unit.State = write, UnitChanged
	if len(u.Files) == 0 {
		unit.action, unit.State = remove, UnitRemoved
	}
	d.holdUnreadable(unit)
	if unit.action == write && d.Current[u] {
		unit.action, unit.State = keep, UnitUnchanged
	}
	return nil
}

// isUnsure reports whether no version can be had of an object that cannot be read, or may be unreadable. Units
// that were rendered from it are held, and only their inventories tell which units these are.
func (d decider) isUnsure() bool {
	for _, u := range d.Objects.Unreadable {
		if u.StandIn == nil {
			return true
		}
	}
	return len(d.Objects.UnreadablePaths) > 0
}

// holdUnreadable holds a unit that was rendered from an object no version of which can be read.
func (d decider) holdUnreadable(unit *Unit) {
	for _, text := range unit.folder.Inventory.Inputs {
		id, ok := manifest.ParseID(text)
		if !ok || d.Objects.Set.Find(id) != nil || unit.rendered != nil && slices.Contains(unit.rendered.Inputs, id) {
			continue
		}
		if u := d.Objects.Unreadable[id]; u != nil {
			unit.holdFor(u.Reason)
			return
		}
		if d.Objects.MayBeHidden(id) {
			d.holdVanished(unit, id)
			return
		}
	}
}

// holdVanished holds a unit for an object that is gone while a file cannot be read.
func (d decider) holdVanished(unit *Unit, id manifest.ID) {
	unit.hold(id.String() + " is gone, and a file cannot be read")
	d.add(diag.Error, diag.VanishedHeld, "",
		"repair the file; if you deleted the object, the next pass removes it",
		"%s is in no readable file, and not every file can be read: unit %s is left unchanged", id, unit.Name)
}

// toBlame returns the object to blame for an error in an object of a unit: the GrafanaAgent, or the object that is
// passed through.
func (d decider) toBlame(unit string, id manifest.ID) *manifest.Object {
	if passthrough.IsUnit(unit) {
		return d.Objects.Set.Find(id)
	}
	return d.Objects.Set.Get(agentOf(unit))
}

// gone decides about a unit without a rendered GrafanaAgent. It is removed, unless the GrafanaAgent cannot be
// used, or may be in a file that cannot be read. A unit of objects that are passed through is removed when the last of
// them is.
func (d decider) gone(folder *branch.Unit) (Unit, error) {
	unit := Unit{Name: folder.Name, folder: folder, action: remove, State: UnitRemoved}
	if passthrough.IsUnit(unit.Name) {
		err := folder.Load()
		d.holdUnreadable(&unit)
		return unit, err
	}
	id := agentOf(folder.Name)
	switch u := d.Objects.Unreadable[id]; {
	case d.Objects.Set.Get(id) != nil:
	case u != nil:
		unit.holdFor(u.Reason)
	case d.Objects.MayBeHidden(id):
		d.holdVanished(&unit, id)
	}
	return unit, nil
}

// holdConflicts holds units that would contain an object that is also in a folder that stays as it is: Flux and Argo CD
// would refuse one of the two. The generator finds conflicts between units that are both written.
func (d decider) holdConflicts() error {
	owners := map[string]string{} // units by object
	for i := range d.Units {
		if err := d.addOwned(owners, &d.Units[i]); err != nil {
			return err
		}
	}
	for again := len(owners) > 0; again; {
		again = false
		for i := range d.Units {
			unit := &d.Units[i]
			object, owner := unit.conflict(owners)
			if owner == "" {
				continue
			}
			id, _ := manifest.ParseID(object)
			found := d.toBlame(unit.Name, id).Place(diag.NameConflict.At("metadata.name",
				"%s would be rendered, and is on the output branch for %s, whose folder is left unchanged", object,
				titleOf(owner)))
			found.Units = []string{unit.Name}
			d.Diags = append(d.Diags, found)
			unit.fail(found)
			again = true
			if err := d.addOwned(owners, unit); err != nil {
				return err
			}
		}
	}
	return nil
}

// addOwned adds the objects in a folder that stays as it is.
func (d decider) addOwned(owners map[string]string, unit *Unit) error {
	if unit.State != UnitHeld && unit.State != UnitPaused || !unit.folder.Exists() {
		return nil
	}
	if err := unit.folder.Load(); err != nil {
		return err
	}
	for _, f := range unit.folder.Inventory.Files {
		if f.Object != "" {
			owners[f.Object] = unit.Name
		}
	}
	return nil
}

// conflict finds an object that the unit would write and another unit owns.
func (u *Unit) conflict(owners map[string]string) (object, owner string) {
	if u.action != write {
		return "", ""
	}
	for _, f := range u.rendered.Files {
		if o := owners[f.Object.String()]; f.Manifest && o != "" && o != u.Name {
			return f.Object.String(), o
		}
	}
	return "", ""
}
