package gitsync

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// holding is an object that is held: which version stands in for it, for whom, why and since
// when.
type holding struct {
	id      manifest.ID
	units   []string         // rendered with the stand-in or without the object, or kept as they are
	forAll  bool             // the stand-in is that of any unit to come, too
	standIn *manifest.Object // nil: left out, or what the units have of it cannot be had
	reason  diag.Diagnostic
	hidden  []branch.Place
	since   branch.CommitRef
	old     *record // that the output branch has of the same version; nil when it is held anew
}

// key is equal for holdings of the same version.
func (h *holding) key() string {
	switch {
	case h.standIn != nil:
		return h.id.String() + " " + hex.EncodeToString(h.standIn.Digest[:])
	case h.old != nil:
		return h.id.String() + " " + h.old.Commit + " " + h.old.Path
	}
	return h.id.String()
}

// collectHeld finds all that is held, sorted, and reports it.
func (p *pass) collectHeld(rendered *generator.Output) error {
	c := heldCollector{pass: p, errors: rendered.Diags, known: map[string]*holding{}}
	if err := c.addUnreadable(); err != nil {
		return err
	}
	for i := range p.plan {
		plan := &p.plan[i]
		var err error
		switch {
		case plan.state == UnitHeld, plan.state == UnitPaused && plan.folder.Exists() && c.anything():
			err = c.kept(plan)
		case plan.unit != nil && plan.state != UnitLeftOut:
			err = c.rendered(plan)
		}
		if err != nil {
			return err
		}
	}
	if err := c.leftOut(); err != nil {
		return err
	}
	p.held = slices.SortedFunc(maps.Values(c.known), func(a, b *holding) int {
		return cmp.Or(a.id.Compare(b.id), slices.Compare(a.units, b.units), cmp.Compare(a.key(), b.key()))
	})
	for _, h := range p.held {
		p.report.Held = append(p.report.Held, p.heldObject(h))
	}
	return nil
}

// anything reports whether something is held, or may have been.
func (c *heldCollector) anything() bool {
	return len(c.unreadable) > 0 || len(c.unreadablePaths) > 0 || len(c.lastGood.records) > 0
}

// heldCollector joins what is held for one unit or another.
type heldCollector struct {
	*pass
	errors diag.List
	known  map[string]*holding // by key
}

// add takes a holding in, whose old record is that of the same version if it has none yet. Of an
// object that cannot be read that is the reason, whatever else is wrong with what stands in.
func (c *heldCollector) add(h holding) error {
	if l := c.unreadable[h.id]; l != nil {
		h.reason, h.hidden = l.reason, l.hidden
	}
	if h.old == nil {
		var err error
		if h.old, err = c.lastGood.recordOf(h.id, h.standIn); err != nil {
			return err
		}
	}
	known := c.known[h.key()]
	if known != nil {
		known.forAll = known.forAll || h.forAll
		known.units = slices.Compact(slices.Sorted(slices.Values(append(known.units, h.units...))))
		return nil
	}
	h.since = c.since(&h)
	c.known[h.key()] = &h
	return nil
}

// since is the commit of the object's source with which it was first held.
func (p *pass) since(h *holding) branch.CommitRef {
	if h.old != nil {
		return h.old.Since
	}
	source := 0
	switch o := p.head.Get(h.id); {
	case p.unreadable[h.id] != nil:
		source = p.unreadable[h.id].source
	case o != nil:
		source, _ = p.fileOf(o)
	case h.standIn != nil:
		source = max(0, p.sourceOf(p.lastGood.origins[h.standIn]))
	}
	return commitRef(p.commits[source])
}

// addUnreadable adds the objects that cannot be read, if anybody is rendered with what stands in
// for them. A Namespace may be, through its labels, without being an input of anybody.
func (c *heldCollector) addUnreadable() error {
	for _, id := range slices.SortedFunc(maps.Keys(c.unreadable), manifest.ID.Compare) {
		l := c.unreadable[id]
		h := holding{id: id, units: c.users(l), standIn: l.standIn, forAll: true}
		if l.standIn == nil || len(h.units) == 0 && id.Kind != source.NamespaceKind {
			continue
		}
		if err := c.add(h); err != nil {
			return err
		}
	}
	return nil
}

// users are the units that are rendered with the very stand-in of an object.
func (c *heldCollector) users(l *unreadable) (names []string) {
	for i := range c.plan {
		plan := &c.plan[i]
		if plan.unit == nil || plan.state == UnitPaused || plan.isFailed() || !usesObject(plan.unit, l.id) {
			continue
		}
		if !slices.ContainsFunc(plan.unit.Held, func(h generator.Held) bool { return h.ID == l.id }) {
			names = append(names, plan.name)
		}
	}
	return names
}

// leftOut adds the objects that are there, cannot be read, and are rendered nowhere.
func (c *heldCollector) leftOut() error {
	told := map[manifest.ID]bool{}
	for _, h := range c.known {
		told[h.id] = true
	}
	for id, l := range c.unreadable {
		if told[id] || len(l.hidden) > 0 {
			continue
		}
		if err := c.add(holding{id: id}); err != nil {
			return err
		}
	}
	return nil
}

// usesObject reports whether a unit is rendered from an object, or in a Namespace.
func usesObject(u *generator.Unit, id manifest.ID) bool {
	if id.Kind == source.NamespaceKind {
		return slices.ContainsFunc(u.Inputs, func(input manifest.ID) bool { return input.Namespace == id.Name })
	}
	_, found := slices.BinarySearchFunc(u.Inputs, id, manifest.ID.Compare)
	return found
}

// rendered adds what is held for one unit alone.
func (c *heldCollector) rendered(plan *unitPlan) error {
	for _, h := range plan.unit.Held {
		err := c.add(holding{id: h.ID, units: []string{plan.name}, standIn: h.StandIn, reason: h.Reason})
		if err != nil {
			return err
		}
	}
	return nil
}

// kept adds the objects of a unit that stays as it is which are others now. What was deleted is
// none of them, but for Secrets and ConfigMaps, which somebody may refer to still. Of one that
// is paused these are only those that cannot be read, and those that were held before: it
// must not lose them until it goes on.
func (c *heldCollector) kept(plan *unitPlan) error {
	if err := plan.folder.Load(); err != nil {
		return err
	}
	for _, text := range plan.folder.Inventory.Inputs {
		id, ok := parseID(text)
		now, l, old := c.head.Get(id), c.unreadable[id], c.lastGood.recordFor(plan.name, id)
		vanished := now == nil && l == nil && c.missed(id)
		isGone := now == nil && l == nil && !vanished && id.Kind != "Secret" && id.Kind != "ConfigMap"
		wasHeld := old != nil && slices.Contains(old.Units, plan.name)
		if !ok || isGone || plan.state == UnitPaused && l == nil && !vanished && !wasHeld {
			continue
		}
		last, _ := c.lastGood.Last(plan.name, id)
		h := holding{id: id, units: []string{plan.name}, standIn: last, reason: c.reasonOf(plan, id)}
		if last == nil {
			h.old = old
		}
		if vanished {
			h.hidden = c.unreadablePaths
		}
		isSame := now != nil && last != nil && now.Digest == last.Digest
		isUnknown := now != nil && last == nil && h.old == nil
		if isSame || isUnknown {
			continue
		}
		if err := c.add(h); err != nil {
			return err
		}
	}
	return c.lastGood.err
}

// reasonOf is the error for which a unit that stays as it is does not take an object: the
// object's own, or the unit's.
func (c *heldCollector) reasonOf(plan *unitPlan, id manifest.ID) diag.Diagnostic {
	out := diag.Diagnostic{Severity: diag.Error, Message: plan.reason, Units: []string{plan.name}}
	for _, d := range slices.Backward(c.errors) {
		if d.Severity == diag.Error && slices.Contains(d.Units, plan.name) {
			out = d
			if objectID(d) == id {
				break
			}
		}
	}
	return out
}

// originOf is where the version comes from that stands in: once it is recorded, for good.
func (p *pass) originOf(h *holding) branch.Origin {
	if h.old != nil {
		return h.old.Origin
	}
	return p.lastGood.origins[h.standIn]
}

// heldObject is a holding as it is reported.
func (p *pass) heldObject(h *holding) HeldObject {
	out := HeldObject{Object: h.id, Units: h.units, Since: h.since, Reason: h.reason}
	if h.standIn == nil {
		return out
	}
	allKept := len(h.units) > 0
	for i := range p.plan {
		if slices.Contains(h.units, p.plan[i].name) && p.plan[i].state != UnitHeld {
			allKept = false
		}
	}
	if !allKept {
		out.As = p.originOf(h).Input()
	}
	out.Waiting = p.waitingFor(h)
	return out
}
