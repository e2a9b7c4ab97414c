package gitsync

import (
	"errors"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// action is what becomes of a unit's folder.
type action int

const (
	keep   action = iota // byte for byte
	write                // to what was rendered
	remove               // all that is ours
)

// unitPlan is the decision about one unit.
type unitPlan struct {
	name   string
	action action
	state  UnitState
	reason string
	unit   *generator.Unit // nil when its GrafanaAgent is gone
	folder *branch.Unit
}

// files counts the files of the folder.
func (u *unitPlan) files() int {
	switch {
	case u.action == remove:
		return 0
	case u.unit != nil && (u.action == write || u.state == UnitUnchanged):
		return len(u.unit.Files)
	case u.folder != nil && u.folder.Inventory != nil:
		return len(u.folder.Inventory.Files)
	}
	return 0
}

// decide plans every unit that was rendered or that the branch has.
func (p *pass) decide(rendered *generator.Output) error {
	d := decider{p, rendered}
	seen := map[string]bool{}
	for _, u := range rendered.Units {
		seen[u.Name] = true
		plan, err := d.rendered(u)
		if err != nil {
			return err
		}
		p.plan = append(p.plan, plan)
	}
	for name, held := range p.branch.Units {
		if !seen[name] {
			p.plan = append(p.plan, d.gone(held))
		}
	}
	slices.SortFunc(p.plan, func(a, b unitPlan) int { return strings.Compare(a.name, b.name) })
	if err := d.holdConflicts(); err != nil {
		return err
	}
	reasons := firstErrors(rendered.Diags)
	for i := range p.plan {
		if plan := &p.plan[i]; plan.reason == "" && plan.isFailed() {
			plan.reason = reasons[plan.name]
		}
	}
	return nil
}

// firstErrors is the first error of each unit.
func firstErrors(diags diag.List) map[string]string {
	out := map[string]string{}
	for _, d := range diags {
		for _, u := range d.Units {
			if _, ok := out[u]; !ok && d.Severity == diag.Error {
				out[u] = d.Position() + ": " + d.Message
			}
		}
	}
	return out
}

type decider struct {
	*pass
	out *generator.Output
}

// rendered plans a unit whose GrafanaAgent is there. One that changes what Kubernetes lets
// nobody change is rendered again, with what is to blame for that held.
func (d decider) rendered(u *generator.Unit) (unitPlan, error) {
	held, err := d.branch.Unit(u.Name)
	plan := unitPlan{name: u.Name, folder: held}
	if err != nil {
		return plan, err
	}
	for refused := false; ; refused = true {
		plan.unit = u
		if err := d.judge(&plan); err != nil || plan.action != write || !plan.folder.Exists() {
			return plan, err
		}
		violation, err := d.immutable(&plan)
		if err != nil || violation == nil {
			return plan, err
		}
		if refused {
			plan.hold(violation.Message)
			return plan, nil
		}
		u = d.out.Refuse(u.Name, *violation)
	}
}

// judge decides what becomes of the folder of a rendered unit.
func (d decider) judge(plan *unitPlan) error {
	u, exists := plan.unit, plan.folder.Exists()
	plan.action = keep
	w := d.memory.written[u.Name]
	isWritten := exists && w.unit == u && w.dir == plan.folder.Dir
	if isWritten && !d.unsure() {
		plan.state = UnitUnchanged
		return nil
	}
	switch {
	case u.Paused:
		plan.state = UnitPaused
		return nil
	case u.Failed && exists:
		plan.state = UnitHeld
		return plan.folder.Load()
	case u.Failed:
		plan.state = UnitLeftOut
		return nil
	case len(u.Files) == 0 && !exists:
		plan.state = UnitUnchanged // nothing to render, and nothing there
		return nil
	}
	if err := plan.folder.Load(); err != nil || !exists {
		plan.action, plan.state, plan.unit = write, UnitAdded, d.out.ReloadBytes(u)
		return err
	}
	plan.action, plan.state = write, UnitChanged
	if len(u.Files) == 0 {
		plan.action, plan.state = remove, UnitRemoved
	}
	d.holdUnreadable(plan)
	switch {
	case plan.action != write:
	case isWritten:
		plan.action, plan.state = keep, UnitUnchanged
	default:
		plan.unit = d.out.ReloadBytes(u)
	}
	return nil
}

// unsure reports whether there are objects, or may be, of which no version can be had: units
// that were rendered from them stay, and it takes more than memory to tell which.
func (d decider) unsure() bool {
	for _, l := range d.unreadable {
		if l.standIn == nil {
			return true
		}
	}
	return len(d.unreadablePaths) > 0
}

// holdUnreadable holds a unit when an object that it was rendered from cannot be read, or perhaps
// so, and no version of it can be had either.
func (d decider) holdUnreadable(plan *unitPlan) {
	for _, text := range plan.folder.Inventory.Inputs {
		id, ok := parseID(text)
		if !ok || d.set.Get(id) != nil || slices.Contains(plan.unit.Inputs, id) {
			continue
		}
		if l := d.unreadable[id]; l != nil {
			plan.hold(l.reason.Position() + ": " + l.reason.Message)
			return
		}
		if d.missed(id) {
			d.holdVanished(plan, id)
			return
		}
	}
}

// holdVanished holds a unit for an object that is gone while something cannot be read.
func (d decider) holdVanished(plan *unitPlan, id manifest.ID) {
	plan.hold(id.String() + " is gone, and a file cannot be read")
	d.error(diag.VanishedHeld, "", "repair the file; if the object was meant to go, it goes with the next pass",
		"%s is in no readable file, and not every file can be read: unit %s stays as it is", id, plan.name)
}

// inputs are the objects that a unit is rendered from, as the inventory names them: with
// their Namespaces, whose labels may decide what is selected.
func (p *pass) inputs(u *generator.Unit) []string {
	var out []string
	namespaces := map[string]bool{}
	for _, id := range u.Inputs {
		out = append(out, id.String())
		if ns := (manifest.ID{Kind: source.NamespaceKind, Name: id.Namespace}); !namespaces[id.Namespace] && p.set.Get(ns) != nil {
			out = append(out, ns.String())
		}
		namespaces[id.Namespace] = true
	}
	return out
}

// isFailed reports whether an error keeps the unit as it was, or out.
func (u *unitPlan) isFailed() bool { return u.state == UnitHeld || u.state == UnitLeftOut }

func (u *unitPlan) hold(reason string) {
	u.action, u.state, u.reason = keep, UnitHeld, reason
}

// immutable finds a change of what Kubernetes lets nobody change.
func (d decider) immutable(plan *unitPlan) (*diag.Diagnostic, error) {
	for _, f := range plan.unit.Files {
		if !workload.IsWorkload(f.Object.Kind) {
			continue
		}
		old, err := plan.folder.LastWritten(f.Path)
		if errors.Is(err, object.ErrPathNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		field := workload.ImmutableChange(old, f.Data)
		if field == "" {
			continue
		}
		agent := d.set.Get(agentID(plan.name))
		violation := agent.Diag(diag.Error, diag.ImmutableField, "spec", "%s: %s differs from what is on the output branch, and Kubernetes lets nobody change it on an existing object", f.Object, field)
		violation.Hint = "take the change back; or delete the workload in the cluster (kubectl delete --cascade=orphan keeps its pods) and its file on the output branch"
		violation.Units = []string{plan.name}
		return &violation, nil
	}
	return nil, nil
}

func agentID(unit string) manifest.ID {
	namespace, name, _ := strings.Cut(unit, "/")
	return manifest.ID{Kind: "GrafanaAgent", Namespace: namespace, Name: name}
}

// gone plans a unit whose GrafanaAgent is not rendered: removed, unless it is there and cannot
// be used, or may be in a file that cannot be read.
func (d decider) gone(held *branch.Unit) unitPlan {
	plan := unitPlan{name: held.Name, folder: held, action: remove, state: UnitRemoved}
	id := agentID(held.Name)
	switch l := d.unreadable[id]; {
	case d.set.Get(id) != nil:
	case l != nil:
		plan.hold(l.reason.Position() + ": " + l.reason.Message)
	case d.missed(id):
		d.holdVanished(&plan, id)
	}
	return plan
}
