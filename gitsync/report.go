package gitsync

import (
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// Report holds the findings and results of a pass.
type Report struct {
	Pipeline string
	Sources  []SourceStatus
	Output   OutputStatus
	// Units are sorted by name.
	Units []UnitStatus
	// Held are the objects that are not rendered as they are in the inputs, sorted by identity.
	Held []plan.HeldObject
	// Set is the inputs, with stand-ins for what is unreadable, and Hierarchies are the parts of it that the units
	// are rendered from. Both are nil if the pass was refused before they were needed.
	Set         *manifest.Set
	Hierarchies []*hierarchy.Hierarchy
	// Rendered are the units as they were rendered, if Options.Review asks for them. Under the secrets policy sops the
	// values of Secrets are encrypted or placeholders.
	Rendered []*generator.Unit
	// Kept are the files that Options.Keep asks for, in the order of the sources and of their paths.
	Kept []manifest.File
	// Explained holds the parts of the render that package explain needs. Nil if there was none.
	Explained *explain.Render
	// Changes are the files that the commit adds, changes or removes, sorted by path.
	Changes []plan.FileChange
	// Difference is the meaning of the commit. It is set by dry runs and by pipelines that propose.
	Difference *difference.Difference
	// Ignored counts objects of kinds that agentry does not read, by "apiVersion Kind".
	Ignored map[string]int
	// Hidden counts the files that a .sourceignore file hides.
	Hidden int
	// UnsetCharts are the charts that nothing renders, or only with their default values.
	UnsetCharts []source.Unset
	Diags       diag.List
	// Refused is the error that prevented the whole commit, whatever unit it is about. It is nil if there is none.
	Refused *diag.Diagnostic
	// Reads reports whether a pass read a file with that name of a source, or one below it. It is set by dry runs that
	// rendered.
	Reads func(source int, name string) bool
	// Names reports whether something that is built in a source names a folder, or something in it. It is set with
	// Reads.
	Names func(source int, folder string) bool
	// Commit is the new commit of the output branch. It is empty if nothing had to change, the pass was refused, or
	// the pipeline proposes.
	Commit string
	// Proposed is the pipeline's proposal. It is nil if the pipeline writes to the output branch itself.
	Proposed *Proposal
	// DryRun says that nothing was pushed.
	DryRun bool
	// NextPass is when the versions of charts are looked up again: a pass is due then although no ref moved. Zero:
	// never.
	NextPass time.Time
	// Stages are the stages of the pass in order. After a lost race, they are the stages of the last attempt.
	Stages []Stage
}

// Stage is a part of a pass.
type Stage struct {
	Name         string // one of the constants below
	Began, Ended time.Time
}

// The names of stages.
const (
	StageFetch  = "fetch"  // asking remotes, or using the answers of the round
	StageWait   = "wait"   // for [Options.Gate]
	StageRender = "render" // reading, rendering and comparing
	StagePush   = "push"   // writing objects and pushing them
)

// enter ends the current stage and begins another one, or none if name is "".
func (r *Report) enter(name string) {
	now := time.Now()
	if n := len(r.Stages); n > 0 && r.Stages[n-1].Ended.IsZero() {
		r.Stages[n-1].Ended = now
	}
	if name != "" {
		r.Stages = append(r.Stages, Stage{Name: name, Began: now})
	}
}

// HeldUnits returns the units that are held.
func (r *Report) HeldUnits() []UnitStatus {
	var out []UnitStatus
	for _, u := range r.Units {
		if u.IsWithheld() {
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

// addPlan adds what becomes of the units, and what is held.
func (r *Report) addPlan(p *plan.Plan) {
	r.Held = p.Held()
	for i := range p.Units {
		u := &p.Units[i]
		r.Units = append(r.Units, UnitStatus{Name: u.Name, State: u.State, Reason: u.Reason, Error: u.Error,
			Lost: u.Lost, Files: u.Files()})
	}
}
