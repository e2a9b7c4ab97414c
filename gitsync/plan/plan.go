package plan

import (
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/internal/lastgood"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Inputs are what a plan is made from.
type Inputs struct {
	Pipeline *pipeline.Pipeline // valid and with its defaults
	Objects  *lastgood.Inputs
	LastGood *lastgood.LastGood
	Branch   *branch.Branch // open
	Rendered *generator.Output
	Memory   Memory // of the last pass
	// Current are the units of Memory that the branch has: see [Memory.Current].
	Current map[*generator.Unit]bool
	// RenderBase renders the commits that the output was last rendered from. It returns nil if they are not known.
	RenderBase func() *generator.Output
	// AllowDeletions is the id of an input commit that may delete any number of units.
	AllowDeletions string
	// DryRun means that nothing is pushed: the bytes of units are kept.
	DryRun bool
}

// Plan holds the decisions about all units.
type Plan struct {
	Inputs
	Findings
	Units []Unit // sorted by name
	held  []*held
	// otherKeys is how many Secrets of the branch were sealed with another key.
	otherKeys int
}

// Memory is kept from one pass to the next: the last render, and the folders of the branch that equal it.
type Memory struct {
	// Rendered is the last render. Units that are on the branch have no bytes.
	Rendered *generator.Output
	folders  map[*generator.Unit]plumbing.Hash // the folders that equal a unit
}

// Current returns the units whose folders still are what was rendered. An error means that the branch could not be
// read.
func (m *Memory) Current(b *branch.Branch) (map[*generator.Unit]bool, error) {
	out := make(map[*generator.Unit]bool, len(m.folders))
	for u, dir := range m.folders {
		folder, err := b.Unit(u.Name)
		if err != nil {
			return nil, fmt.Errorf("read the output branch: %w", err)
		}
		if folder.Exists() && folder.Dir == dir {
			out[u] = true
		}
	}
	return out, nil
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
	found := firstErrors(in.Rendered.Diags)
	for i := range p.Units {
		u := &p.Units[i]
		if d, ok := found[u.Name]; ok && u.Reason == "" && u.isFailed() {
			u.Reason, u.Error = reasonText(d), d
		}
	}
	p.Diags = append(p.Diags, p.aboutInputs(in.Rendered.Diags)...)
	return p, nil
}

// firstErrors returns the first error of each unit: of its GrafanaAgent, else of anything in it.
func firstErrors(diags diag.List) map[string]diag.Diagnostic {
	out, ofAgent := map[string]diag.Diagnostic{}, map[string]bool{}
	for _, d := range diags {
		if d.Severity != diag.Error {
			continue
		}
		for _, u := range d.Units {
			isOfAgent := manifest.IDOf(d.Object) == agentOf(u)
			if _, ok := out[u]; !ok || isOfAgent && !ofAgent[u] {
				out[u], ofAgent[u] = d, isOfAgent
			}
		}
	}
	return out
}

// aboutInputs returns the diagnostics without those about stand-ins, because the texts of stand-ins are not in
// the inputs. An error in a stand-in that keeps its unit from being rendered stays: it has the position of the error in
// the object itself.
func (p *Plan) aboutInputs(diags diag.List) diag.List {
	var out diag.List
	for _, d := range diags {
		u := p.Objects.Unreadable[manifest.IDOf(d.Object)]
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
