package gitsync

import (
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/plan"
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
	Held []plan.HeldObject
	// Set is the inputs, with stand-ins for what cannot be read, and Hierarchies are what of it
	// the units are rendered from; nil when an error refused the pass before there was any use
	// for them.
	Set         *manifest.Set
	Hierarchies []*hierarchy.Hierarchy
	// Rendered are the units as they were rendered, if Options.Review asks for them.
	Rendered []*generator.Unit
	// Changes are the files that the commit adds, changes or removes, sorted by path.
	Changes []plan.FileChange
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

// UnitReport is one unit.
type UnitReport struct {
	Name  string
	State plan.UnitState
	// Reason says why a unit is held or left out.
	Reason string
	// Files is how many files its folder has, besides those that describe it.
	Files int
}

// HeldUnits returns the units that are held.
func (r *Report) HeldUnits() []UnitReport {
	var out []UnitReport
	for _, u := range r.Units {
		if u.State == plan.UnitHeld || u.State == plan.UnitLeftOut {
			out = append(out, u)
		}
	}
	return out
}

// add adds what a stage found.
func (r *Report) add(f plan.Findings) {
	all := plan.Findings{Diags: r.Diags, Refused: r.Refused}
	all.Merge(f)
	r.Diags, r.Refused = all.Diags, all.Refused
}

// addPlan adds what becomes of the units.
func (r *Report) addPlan(p *plan.Plan) {
	for i := range p.Units {
		u := &p.Units[i]
		r.Units = append(r.Units, UnitReport{Name: u.Name, State: u.State, Reason: u.Reason, Files: u.Files()})
	}
}
