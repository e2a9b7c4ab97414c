package plan

import (
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/hold"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Inputs are what a plan is made from.
type Inputs struct {
	Pipeline *pipeline.Pipeline // valid and with its defaults
	Objects  *hold.Inputs
	LastGood *hold.LastGood
	Branch   *branch.Branch // open
	Rendered *generator.Output
	Settled  Settled // of the last pass
	// Previous is what the last pass rendered; nil if it is not known. Its units are those in Settled.
	Previous *generator.Output
	// AllowDeletions is the id of an input commit that may delete any number of units.
	AllowDeletions string
	// DryRun means that nothing is pushed: the bytes of units are kept.
	DryRun bool
}

// Plan is what becomes of the units.
type Plan struct {
	Inputs
	Findings
	Units []Unit // sorted by name
	held  []*held
	// otherKeys is how many Secrets of the branch were sealed with another key.
	otherKeys int
}

// Settled has the units whose folders equal what was rendered. The next pass compares two pointers to find that a unit
// did not change.
type Settled map[string]settledUnit

type settledUnit struct {
	unit *generator.Unit
	dir  plumbing.Hash
}

// Decide decides about every unit that was rendered or that the branch has. An error means that the branch or
// the history of a source could not be read.
func Decide(in Inputs) (*Plan, error) {
	p := &Plan{Inputs: in}
	err := decider{p}.decide()
	if lost := in.LastGood.Err(); lost != nil {
		return nil, lost // what was rendered relies on it
	}
	if err != nil {
		return nil, fmt.Errorf("read the output branch: %w", err)
	}
	reasons := firstErrors(in.Rendered.Diags)
	for i := range p.Units {
		if u := &p.Units[i]; u.Reason == "" && u.isFailed() {
			u.Reason = reasons[u.Name]
		}
	}
	p.Diags = append(p.Diags, p.aboutInputs(in.Rendered.Diags)...)
	return p, nil
}

// firstErrors returns the first error of each unit.
func firstErrors(diags diag.List) map[string]string {
	out := map[string]string{}
	for _, d := range diags {
		for _, u := range d.Units {
			if _, ok := out[u]; !ok && d.Severity == diag.Error {
				out[u] = d.Position() + ": " + d.Problem()
			}
		}
	}
	return out
}

// aboutInputs returns the diagnostics without those about stand-ins, because the texts of stand-ins are not in
// the inputs. An error in a stand-in that keeps its unit from being rendered stays: its position is that of the
// error in the object itself.
func (p *Plan) aboutInputs(diags diag.List) diag.List {
	var out diag.List
	for _, d := range diags {
		u := p.Objects.Unreadable[hold.ObjectOf(d)]
		if u == nil || d.Code == diag.DuplicateObject {
			out = append(out, d)
			continue
		}
		if d.Severity == diag.Error && slices.ContainsFunc(p.Units, func(u Unit) bool {
			return u.isFailed() && slices.Contains(d.Units, u.Name)
		}) {
			d.Source, d.File, d.Line, d.Column = u.Reason.Source, u.Reason.File, u.Reason.Line, u.Reason.Column
			out = append(out, d)
		}
	}
	return out
}
