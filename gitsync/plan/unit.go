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

// UnitState is the decision of a pass about a unit.
type UnitState string

// The states of a unit.
const (
	UnitUnchanged UnitState = "unchanged"
	UnitAdded     UnitState = "added"
	UnitChanged   UnitState = "changed"
	UnitRemoved   UnitState = "removed"
	UnitHeld      UnitState = "held"    // an error keeps its folder as it was
	UnitPaused    UnitState = "paused"  // its GrafanaAgent is paused: its folder stays as it was
	UnitLeftOut   UnitState = "leftout" // an error keeps it from being rendered for the first time
)

// UnitStates returns all states.
func UnitStates() []UnitState {
	return []UnitState{UnitUnchanged, UnitAdded, UnitChanged, UnitRemoved, UnitHeld, UnitPaused, UnitLeftOut}
}

// action is the treatment of a unit's folder.
type action int

const (
	keep   action = iota // as it is
	write                // becomes what was rendered
	remove               // agentry's files are removed
)

// Unit is the decision about one unit.
type Unit struct {
	Name   string
	State  UnitState
	Reason string // why the unit is held or left out
	// Error is the finding that holds the unit or leaves it out; zero if none does by itself.
	Error diag.Diagnostic
	Lost  string // the losses of a changed unit, such as "-2 ServiceMonitors, -4 jobs"

	action   action
	rendered *generator.Unit  // nil if the inputs have none
	sealed   []generator.File // its files after [Plan.Seal]; nil before
	renewed  map[string]bool  // files that are encrypted for other recipients, with the same values
	folder   *branch.Unit
}

// files returns the files that are rendered, as they are written.
func (u *Unit) files() []generator.File {
	if u.sealed != nil {
		return u.sealed
	}
	return u.rendered.Files
}

// Files returns how many files the folder has, without those that describe it.
func (u *Unit) Files() int {
	switch {
	case u.action == remove:
		return 0
	case u.rendered != nil && (u.action == write || u.State == UnitUnchanged):
		return len(u.files())
	case u.folder.Inventory != nil:
		return len(u.folder.Inventory.Files)
	}
	return 0
}

// isFailed reports whether an error holds the unit or leaves it out.
func (u *Unit) isFailed() bool { return u.State == UnitHeld || u.State == UnitLeftOut }

// hold keeps the folder as it is.
func (u *Unit) hold(reason string) {
	u.action, u.State, u.Reason = keep, UnitHeld, reason
}

// holdFor keeps the folder as it is for an error.
func (u *Unit) holdFor(d diag.Diagnostic) {
	u.hold(reasonText(d))
	u.Error = d
}

// fail keeps the folder as it is for an error; a unit that has none is left out.
func (u *Unit) fail(d diag.Diagnostic) {
	u.hold(d.Problem())
	u.Error = d
	if !u.folder.Exists() {
		u.State = UnitLeftOut
	}
}

// uses reports whether the unit is rendered from an object, or in a Namespace.
func (u *Unit) uses(id manifest.ID) bool {
	if id.Kind == manifest.NamespaceKind {
		return slices.ContainsFunc(u.rendered.Inputs, func(input manifest.ID) bool {
			return input.Namespace == id.Name
		})
	}
	_, found := slices.BinarySearchFunc(u.rendered.Inputs, id, manifest.ID.Compare)
	return found
}

// titleOf returns words for what a unit is rendered from.
func titleOf(unit string) string {
	namespace, _, _ := strings.Cut(unit, "/")
	switch {
	case !passthrough.IsUnit(unit):
		return "GrafanaAgent " + unit
	case unit == passthrough.Unit(""):
		return "what is passed through to the cluster"
	}
	return "what is passed through to namespace " + namespace
}

// agentOf returns the GrafanaAgent of a unit.
func agentOf(unit string) manifest.ID {
	namespace, name, _ := strings.Cut(unit, "/")
	return manifest.ID{Kind: "GrafanaAgent", Namespace: namespace, Name: name}
}
