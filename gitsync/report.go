package gitsync

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
)

// Report is what a pass found and did.
type Report struct {
	Pipeline string
	Sources  []SourceReport
	Output   OutputReport
	// Units are sorted by name.
	Units []UnitReport
	// Held are the objects that are not rendered as they are in the inputs, sorted by
	// identity.
	Held []HeldObject
	// Set is the inputs, with stand-ins for what cannot be read, and Hierarchies are what of it
	// the units are rendered from; nil when an error refused the pass before there was any use
	// for them.
	Set         *manifest.Set
	Hierarchies []*hierarchy.Hierarchy
	// Rendered are the units as they were rendered, if Options.Review asks for them.
	Rendered []*generator.Unit
	// Changes are the files that the commit adds, changes or removes, sorted by path.
	Changes []FileChange
	// Ignored counts objects of kinds that agentry does not read, by "apiVersion Kind".
	Ignored map[string]int
	Diags   diag.List
	// Refused is why nothing was written, though there may have been something to write: the
	// error that stands in the way of the whole commit, whatever unit it is about. Nil: nothing
	// does.
	Refused *diag.Diagnostic
	// Commit is the new commit of the output branch; empty when nothing had to change, the pass
	// was refused, or the pipeline proposes.
	Commit string
	// Proposed is what the pipeline proposes; nil if it writes the output branch itself.
	Proposed *Proposal
	// DryRun says that nothing was pushed.
	DryRun bool
	// Stages are what the pass was at, one after the other; after a lost race those of the last
	// attempt.
	Stages []Stage
}

// Stage is a part of a pass.
type Stage struct {
	Name         string // one of those below
	Began, Ended time.Time
}

// The names of stages.
const (
	StageFetch  = "fetch"  // asking remotes, or sharing what the round has asked
	StageWait   = "wait"   // for [Options.Gate]
	StageRender = "render" // reading, rendering and comparing
	StagePush   = "push"   // writing objects and pushing them
)

// enter ends the stage that a pass is at, and begins another one; with "" none.
func (r *Report) enter(name string) {
	now := time.Now()
	if n := len(r.Stages); n > 0 && r.Stages[n-1].Ended.IsZero() {
		r.Stages[n-1].Ended = now
	}
	if name != "" {
		r.Stages = append(r.Stages, Stage{Name: name, Began: now})
	}
}

// SourceReport is one input commit.
type SourceReport struct {
	URL, Ref, Commit string
	Date             time.Time // the committer's, of the commit
	Stale            bool      // the source could not be had, and stays at its base
}

// OutputReport is where the output is.
type OutputReport struct {
	URL, Branch, Path string
	Before            string // the tip before the pass; empty for a new branch
}

// UnitState is what a pass did with a unit.
type UnitState string

// The states of a unit.
const (
	UnitUnchanged UnitState = "unchanged"
	UnitAdded     UnitState = "added"
	UnitChanged   UnitState = "changed"
	UnitRemoved   UnitState = "removed"
	UnitHeld      UnitState = "held"    // kept as it was, for an error
	UnitPaused    UnitState = "paused"  // kept as it was, as its GrafanaAgent wants it
	UnitLeftOut   UnitState = "leftout" // never rendered, for an error
)

// UnitStates are all states.
func UnitStates() []UnitState {
	return []UnitState{UnitUnchanged, UnitAdded, UnitChanged, UnitRemoved, UnitHeld, UnitPaused, UnitLeftOut}
}

// UnitReport is one unit.
type UnitReport struct {
	Name  string
	State UnitState
	// Reason says why a unit is held or left out.
	Reason string
	// Files is how many files its folder has, besides those that describe it.
	Files int
}

// HeldObject is an object that is not rendered as it is in the inputs: its last good
// version stands in for it, or it is left out.
type HeldObject struct {
	Object manifest.ID
	// Units are those that are rendered with the stand-in or without the object; those that
	// keep their folder on its account are among them.
	Units []string
	// As is the input commit whose version of the object is rendered; zero when it is left
	// out, or when its units keep their folder.
	As branch.CommitRef
	// Since is the input commit with which it was first held.
	Since branch.CommitRef
	// Reason is the error.
	Reason diag.Diagnostic
	// Waiting are the paths of the fields in which the inputs differ from what is rendered;
	// nil when the object cannot be read, or is gone.
	Waiting []string
}

// FileChange is one file of a commit.
type FileChange struct {
	Path string
	Op   string // added, changed or removed
	// Insertions and Deletions count lines; only in a dry run.
	Insertions, Deletions int
}

// HeldUnits returns the units that are held.
func (r *Report) HeldUnits() []UnitReport {
	var out []UnitReport
	for _, u := range r.Units {
		if u.State == UnitHeld || u.State == UnitLeftOut {
			out = append(out, u)
		}
	}
	return out
}

func (r *Report) finish() {
	r.Diags.Sort()
	slices.SortFunc(r.Units, func(a, b UnitReport) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Changes, func(a, b FileChange) int { return cmp.Compare(a.Path, b.Path) })
}
