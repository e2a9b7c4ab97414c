package gitsync

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/gitsync/repo"
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
	held   *heldUnit
}

// decide plans every unit that was rendered or that the branch has.
func (p *pass) decide(rendered *generator.Output) error {
	d := decider{pass: p, invalid: p.invalid(), reasons: firstErrors(rendered.Diags)}
	seen := map[string]bool{}
	for _, u := range rendered.Units {
		seen[u.Name] = true
		plan, err := d.rendered(u)
		if err != nil {
			return err
		}
		p.plan = append(p.plan, plan)
	}
	for name, held := range p.tip.units {
		if !seen[name] {
			p.plan = append(p.plan, d.gone(held))
		}
	}
	slices.SortFunc(p.plan, func(a, b unitPlan) int { return strings.Compare(a.name, b.name) })
	return nil
}

// invalid are the objects that were written but could not be used.
func (p *pass) invalid() map[manifest.ID]bool {
	out := map[manifest.ID]bool{}
	for _, src := range p.sources {
		for _, f := range src.input.files {
			for _, id := range f.result.Invalid {
				out[id] = true
			}
		}
	}
	for _, group := range p.set.Duplicates() {
		out[group[0].ID] = true
	}
	for id := range out {
		// It may have been any object before somebody broke its name.
		p.broken = p.broken || !isIdentity(id)
	}
	return out
}

// isIdentity reports whether there can be an object of that name.
func isIdentity(id manifest.ID) bool {
	named := len(validation.IsDNS1123Subdomain(id.Name)) == 0
	return named && (id.Kind == namespaceKind || len(validation.IsDNS1123Label(id.Namespace)) == 0)
}

const namespaceKind = "Namespace"

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
	invalid map[manifest.ID]bool
	reasons map[string]string
}

// rendered plans a unit whose GrafanaAgent is there.
func (d decider) rendered(u *generator.Unit) (unitPlan, error) {
	plan := unitPlan{name: u.Name, unit: u, held: d.tip.units[u.Name]}
	if plan.held == nil {
		if err := d.claim(&plan); err != nil {
			return plan, err
		}
	}
	exists := plan.held.exists()
	if w, ok := d.memory.written[u.Name]; ok && exists && w.unit == u && w.dir == plan.held.dir {
		plan.state = UnitUnchanged
		return plan, nil
	}
	switch {
	case u.Paused:
		plan.state = UnitPaused
		return plan, nil
	case u.Failed && exists:
		plan.state, plan.reason = UnitHeld, d.reasons[u.Name]
		return plan, d.load(plan.held)
	case u.Failed && len(u.Files) == 0:
		plan.state, plan.reason = UnitLeftOut, d.reasons[u.Name]
		return plan, nil
	case len(u.Files) == 0 && !exists:
		plan.state = UnitUnchanged // nothing to render, and nothing there
		return plan, nil
	}
	if err := d.load(plan.held); err != nil || !exists {
		plan.action, plan.state = write, UnitAdded
		return plan, err
	}
	plan.action, plan.state = write, UnitChanged
	if len(u.Files) == 0 {
		plan.action, plan.state = remove, UnitRemoved
	}
	if d.vanished(&plan) {
		return plan, nil
	}
	return plan, d.immutable(&plan)
}

// claim looks at the folder of a unit that is not listed: somebody else's files may be
// there, or ours, if the list was tampered with.
func (d decider) claim(plan *unitPlan) (err error) {
	if plan.held, err = d.folder(plan.name); err != nil || plan.held.dir.IsZero() {
		return err
	}
	return d.load(plan.held)
}

// vanished holds a unit when an object that it was rendered from is there but cannot be
// used, or is gone from every readable file while some file cannot be read. A Namespace
// without its labels matters only if other objects are selected now.
func (d decider) vanished(plan *unitPlan) bool {
	changed := !slices.Equal(objectsOf(plan.held.inv.Inputs), objectsOf(d.inputs(plan.unit)))
	for _, text := range plan.held.inv.Inputs {
		id, ok := parseID(text)
		if !ok || d.set.Get(id) != nil || id.Kind == namespaceKind && !changed {
			continue
		}
		if d.invalid[id] {
			plan.hold(text + " has an error")
			return true
		}
		if d.broken {
			plan.hold(text + " is gone, and a file cannot be read")
			d.error(diag.VanishedHeld, "", "repair the file; if the object was meant to go, it goes with the next pass",
				"%s is in no readable file, and not every file can be read: unit %s stays as it is", text, plan.name)
			return true
		}
	}
	return false
}

// inputs are the objects that a unit is rendered from, as the inventory names them: with
// their Namespaces, whose labels may decide what is selected.
func (p *pass) inputs(u *generator.Unit) []string {
	var out []string
	namespaces := map[string]bool{}
	for _, id := range u.Inputs {
		out = append(out, id.String())
		if ns := (manifest.ID{Kind: namespaceKind, Name: id.Namespace}); !namespaces[id.Namespace] && p.set.Get(ns) != nil {
			out = append(out, ns.String())
		}
		namespaces[id.Namespace] = true
	}
	return out
}

// objectsOf leaves the Namespaces out.
func objectsOf(inputs []string) []string {
	return slices.DeleteFunc(slices.Clone(inputs), func(text string) bool { return strings.HasPrefix(text, namespaceKind+"/") })
}

func (u *unitPlan) hold(reason string) {
	u.action, u.state, u.reason = keep, UnitHeld, reason
}

// parseID reads what ID.String wrote.
func parseID(text string) (manifest.ID, bool) {
	kind, rest, _ := strings.Cut(text, "/")
	if kind == namespaceKind {
		return manifest.ID{Kind: kind, Name: rest}, true
	}
	namespace, name, ok := strings.Cut(rest, "/")
	return manifest.ID{Kind: kind, Namespace: namespace, Name: name}, ok
}

// immutable holds a unit whose render changes what Kubernetes lets nobody change.
func (d decider) immutable(plan *unitPlan) error {
	for _, f := range plan.unit.Files {
		if !workload.IsWorkload(f.Object.Kind) {
			continue
		}
		old, err := d.lastWritten(plan.held, f.Path)
		if errors.Is(err, repo.ErrPathNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		field := workload.ImmutableChange(old, f.Data)
		if field == "" {
			continue
		}
		plan.hold(f.Object.String() + ": " + field + " cannot be changed")
		agent := d.set.Get(agentID(plan.name))
		diagnostic := agent.Diag(diag.Error, diag.ImmutableField, "spec", "%s: %s differs from what is on the output branch, and Kubernetes lets nobody change it on an existing object", f.Object, field)
		diagnostic.Hint = "take the change back; or delete the workload in the cluster (kubectl delete --cascade=orphan keeps its pods) and its file on the output branch"
		diagnostic.Units = []string{plan.name}
		d.report.Diags = append(d.report.Diags, diagnostic)
	}
	return nil
}

func agentID(unit string) manifest.ID {
	namespace, name, _ := strings.Cut(unit, "/")
	return manifest.ID{Kind: "GrafanaAgent", Namespace: namespace, Name: name}
}

// gone plans a unit whose GrafanaAgent is not there: removed, unless it is there and
// cannot be used, or may be in a file that cannot be read.
func (d decider) gone(held *heldUnit) unitPlan {
	plan := unitPlan{name: held.name, held: held, action: remove, state: UnitRemoved}
	id := agentID(held.name)
	switch {
	case d.invalid[id]:
		plan.hold(id.String() + " has an error")
	case d.set.Get(id) == nil && d.broken:
		plan.hold(id.String() + " is gone, and a file cannot be read")
		d.error(diag.VanishedHeld, "", "repair the file; if the object was meant to go, it goes with the next pass",
			"%s is in no readable file, and not every file can be read: unit %s stays as it is", id, held.name)
	}
	return plan
}
