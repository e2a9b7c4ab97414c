package plan

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/internal/lastgood"
)

// HeldObject is an object that is not rendered as it is in the inputs: its last good version stands in for it, or
// it is left out.
type HeldObject struct {
	manifest.ID
	// Units are the units that are rendered with the stand-in or without the object, and the units that keep
	// their folder on its account.
	Units []string `json:"units"`
	// State is [UnitHeld] if a version of the object is in effect: an earlier one is rendered, or a unit keeps its
	// folder. Otherwise it is [UnitLeftOut].
	State UnitState `json:"state"`
	// As is the input commit whose version of the object is rendered. It is zero if the object is left out, or
	// if its units keep their folder.
	As branch.CommitRef `json:"as,omitzero"`
	// Origin is where that version is from. It is zero if there is none.
	Origin branch.Origin `json:"-"`
	// Since is the input commit with which it was first held, or the earlier one that broke it.
	Since branch.CommitRef `json:"since,omitzero"`
	// Reason is the error.
	Reason diag.Diagnostic `json:"why"`
	// Waiting are the paths of the fields in which the inputs differ from what is rendered. It is nil if the
	// object cannot be read, or is gone.
	Waiting []string `json:"waiting"`
}

// held is a held object with its version.
type held struct {
	HeldObject
	forAll  bool             // units that are new are rendered with the stand-in too
	standIn *manifest.Object // nil if the object is left out, or its version cannot be read
	hidden  []branch.Place   // where it may be
	old     *lastgood.Record // of the same version on the output branch; nil if it is held anew
}

// key is equal for the same version of an object.
func (h *held) key() string {
	switch {
	case h.standIn != nil:
		return h.ID.String() + " " + hex.EncodeToString(h.standIn.Digest[:])
	case h.old != nil:
		return h.ID.String() + " " + h.old.Commit + " " + h.old.Path
	}
	return h.ID.String()
}

// isFor reports whether the object is held for a unit.
func (h *held) isFor(unit string) bool { return slices.Contains(h.Units, unit) }

// FindHeld finds all objects that are held.
func (p *Plan) FindHeld() error {
	f := heldFinder{Plan: p, found: map[string]*held{}}
	if err := f.addUnreadable(); err != nil {
		return err
	}
	for i := range p.Units {
		unit := &p.Units[i]
		var err error
		switch {
		case unit.State == UnitHeld, unit.State == UnitPaused && unit.folder.Exists() && f.mayHoldAnything():
			err = f.addKept(unit)
		case unit.rendered != nil && unit.State != UnitLeftOut:
			err = f.addRendered(unit)
		}
		if err != nil {
			return err
		}
	}
	if err := f.addLeftOut(); err != nil {
		return err
	}
	all := slices.SortedFunc(maps.Values(f.found), func(a, b *held) int {
		return cmp.Or(a.ID.Compare(b.ID), slices.Compare(a.Units, b.Units), cmp.Compare(a.key(), b.key()))
	})
	for _, h := range all {
		p.describe(h)
		p.held = append(p.held, h)
	}
	return nil
}

// Held returns the objects that [Plan.FindHeld] found, sorted by identity.
func (p *Plan) Held() []HeldObject {
	var out []HeldObject
	for _, h := range p.held {
		o := h.HeldObject
		o.Units, o.State = append([]string{}, o.Units...), UnitLeftOut
		if o.As.Commit != "" || slices.ContainsFunc(p.Units, func(u Unit) bool {
			return (u.State == UnitHeld || u.State == UnitPaused) && h.isFor(u.Name)
		}) {
			o.State = UnitHeld
		}
		out = append(out, o)
	}
	return out
}

// describe sets where the stand-in comes from, and what waits.
func (p *Plan) describe(h *held) {
	h.Origin = p.LastGood.Origin(h.standIn)
	if h.old != nil {
		h.Origin = h.old.Origin // once it is recorded, it stays
	}
	if h.standIn == nil {
		return
	}
	allKept := len(h.Units) > 0
	for i := range p.Units {
		if h.isFor(p.Units[i].Name) && p.Units[i].State != UnitHeld {
			allKept = false
		}
	}
	if !allKept {
		h.As = h.Origin.Input()
	}
	h.Waiting = waitingFields(p.Objects.Objects, h)
}

// heldFinder finds the objects that are held, and joins those that several units have the same version of.
type heldFinder struct {
	*Plan
	found map[string]*held // by key
}

// mayHoldAnything reports whether an object is held, or may have been.
func (f *heldFinder) mayHoldAnything() bool {
	return len(f.Objects.Unreadable) > 0 || len(f.Objects.UnreadablePaths) > 0 || len(f.LastGood.Records()) > 0
}

// add adds a held object. For an object that cannot be read, the reason is that it cannot, even if its stand-in has an
// error too.
func (f *heldFinder) add(h held) error {
	if u := f.Objects.Unreadable[h.ID]; u != nil {
		h.Reason, h.hidden = u.Reason, u.Hidden
	}
	if h.old == nil {
		var err error
		if h.old, err = f.LastGood.RecordOf(h.ID, h.standIn); err != nil {
			return err
		}
	}
	known := f.found[h.key()]
	if known != nil {
		known.forAll = known.forAll || h.forAll
		known.Units = slices.Compact(slices.Sorted(slices.Values(append(known.Units, h.Units...))))
		return nil
	}
	h.Since = f.since(&h)
	f.found[h.key()] = &h
	return nil
}

// since returns the commit with which an object was first held: of its source, or of another one that it is built from.
func (f *heldFinder) since(h *held) branch.CommitRef {
	if h.old != nil {
		return h.old.Since
	}
	in, source := f.Objects, 0
	switch o := in.Objects.Find(h.ID); {
	case in.Unreadable[h.ID] != nil:
		source = in.Unreadable[h.ID].Source
	case o != nil:
		source = in.SourceOf(o)
	case h.standIn != nil:
		from := f.LastGood.Origin(h.standIn)
		source = max(0, in.Index(from.Source, from.Ref, from.Path))
	}
	return lastgood.CommitRef(in.Commits[f.LastGood.Moved(source)])
}

// addUnreadable adds the objects that cannot be read, if a unit is rendered with their stand-ins. A Namespace is
// always added, because its labels select and it is not among the inputs of a unit.
func (f *heldFinder) addUnreadable() error {
	for _, id := range slices.SortedFunc(maps.Keys(f.Objects.Unreadable), manifest.ID.Compare) {
		h := held{HeldObject: HeldObject{ID: id, Units: f.usersOf(id)}, standIn: f.Objects.Unreadable[id].StandIn,
			forAll: true}
		if h.standIn == nil || len(h.Units) == 0 && id.Kind != manifest.NamespaceKind {
			continue
		}
		if err := f.add(h); err != nil {
			return err
		}
	}
	return nil
}

// usersOf returns the units that are rendered with the stand-in that an object has for all units.
func (f *heldFinder) usersOf(id manifest.ID) (names []string) {
	for i := range f.Units {
		unit := &f.Units[i]
		if unit.rendered == nil || unit.State == UnitPaused || unit.isFailed() || !unit.uses(id) {
			continue
		}
		if !slices.ContainsFunc(unit.rendered.Held, func(h generator.Held) bool { return h.ID == id }) {
			names = append(names, unit.Name)
		}
	}
	return names
}

// addLeftOut adds the objects that are there, cannot be read, and are not rendered anywhere.
func (f *heldFinder) addLeftOut() error {
	added := map[manifest.ID]bool{}
	for _, h := range f.found {
		added[h.ID] = true
	}
	for id, u := range f.Objects.Unreadable {
		if added[id] || len(u.Hidden) > 0 {
			continue
		}
		if err := f.add(held{HeldObject: HeldObject{ID: id}}); err != nil {
			return err
		}
	}
	return nil
}

// addRendered adds the objects that are held for one rendered unit.
func (f *heldFinder) addRendered(unit *Unit) error {
	for _, h := range unit.rendered.Held {
		err := f.add(held{HeldObject: HeldObject{ID: h.ID, Units: []string{unit.Name}, Reason: h.Reason},
			standIn: h.StandIn})
		if err != nil {
			return err
		}
	}
	return nil
}

// addKept adds the objects of a unit whose folder is left unchanged, if they are different now.
func (f *heldFinder) addKept(unit *Unit) error {
	if err := unit.folder.Load(); err != nil {
		return err
	}
	for _, text := range unit.folder.Inventory.Inputs {
		id, ok := manifest.ParseID(text)
		if !ok {
			continue
		}
		h := f.kept(unit, id)
		if h == nil {
			continue
		}
		if err := f.add(*h); err != nil {
			return err
		}
	}
	return f.LastGood.Err()
}

// kept returns an object of a unit whose folder is left unchanged, or nil if the object is not held. A deleted
// object is not held; but Secrets and ConfigMaps are, because something can still refer to them. In a paused
// unit only those objects are held that cannot be read, or were held before.
func (f *heldFinder) kept(unit *Unit, id manifest.ID) *held {
	now, unreadable, old := f.Objects.Objects.Find(id), f.Objects.Unreadable[id], f.LastGood.RecordFor(unit.Name, id)
	isGone := now == nil && unreadable == nil
	isHidden := isGone && f.Objects.MayBeHidden(id)
	if isGone && !isHidden && id.Kind != "Secret" && id.Kind != "ConfigMap" {
		return nil
	}
	wasHeld := old != nil && old.IsFor(unit.Name)
	if unit.State == UnitPaused && unreadable == nil && !isHidden && !wasHeld {
		return nil
	}
	last, _ := f.LastGood.Last(unit.Name, id)
	h := held{HeldObject: HeldObject{ID: id, Units: []string{unit.Name}, Reason: f.reasonOf(unit, id)},
		standIn: last}
	if last == nil {
		h.old = old
	}
	if isHidden {
		h.hidden = f.Objects.UnreadablePaths
	}
	isSame := now != nil && last != nil && now.Digest == last.Digest
	isUnknown := now != nil && last == nil && h.old == nil
	if isSame || isUnknown {
		return nil
	}
	return &h
}

// reasonOf returns the error for which a unit that stays as it is does not take an object: the error of the object, or
// else of the unit.
func (f *heldFinder) reasonOf(unit *Unit, id manifest.ID) diag.Diagnostic {
	out := diag.Diagnostic{Severity: diag.Error, Message: unit.Reason, Units: []string{unit.Name}}
	for _, d := range slices.Backward(f.Rendered.Diags) {
		if d.Severity == diag.Error && slices.Contains(d.Units, unit.Name) {
			out = d
			if manifest.IDOf(d.Object) == id {
				break
			}
		}
	}
	return out
}
