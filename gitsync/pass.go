package gitsync

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// pass is one attempt: gather, decide, write.
type pass struct {
	*Syncer
	gate            gate
	round           time.Time      // what remotes answered after its start holds
	last            bool           // of the attempts: there is no further one after a lost race
	reader          *object.Reader // of the output's repository
	commits         []*object.Commit
	tip             publish.Tip
	branch          *branch.Branch
	head            *manifest.Set // what the inputs define
	set             *manifest.Set // what is rendered: with stand-ins for what cannot be read
	missing         []missing
	unreadable      map[manifest.ID]*unreadable
	unreadablePaths []branch.Place // cannot be read, and not known is what was there at the base
	lastGood        *lastGood
	held            []*holding
	plan            []unitPlan
	dry             publish.Dry // with promotion: the commit that holds the inputs
	report          *Report
}

// run makes the pass once everything is fetched.
func (p *pass) run(ctx context.Context) error {
	if err := p.branch.Open(p.reader, &p.memory.branch); err != nil {
		return fmt.Errorf("read %s of %s: %w", p.pipeline.Spec.Output.Branch, p.output.URL(), err)
	}
	if p.refuseAdoption() {
		return nil
	}
	if err := p.readInputs(); err != nil {
		return err
	}
	if err := p.replaceUnreadable(); err != nil {
		return err
	}
	options := p.render
	options.LastGood = p.lastGood
	options.Review = p.options.Review
	rendered := generator.Render(p.set, options, p.memory.rendered)
	err := p.decide(rendered)
	if p.lastGood.err != nil {
		return p.lastGood.err // what was rendered relies on it
	}
	if err != nil {
		return fmt.Errorf("read the output branch: %w", err)
	}
	p.memory.rendered = rendered
	if p.options.Review {
		p.report.Rendered = rendered.Units
	}
	p.report.Diags = append(p.report.Diags, p.aboutHead(rendered.Diags)...)
	p.report.Diags.Sort()
	if refusal := p.pipeline.Spec.Refusal(p.report.Diags); refusal != nil {
		p.refusedFor(*refusal)
		return nil
	}
	if err := p.collectHeld(rendered); err != nil {
		return fmt.Errorf("read what is held: %w", err)
	}
	p.report.Set = p.set
	for _, u := range rendered.Units {
		p.report.Hierarchies = append(p.report.Hierarchies, u.Hierarchy)
	}
	change, err := p.write(ctx)
	if err != nil || change == nil {
		return err
	}
	if p.options.DryRun {
		return nil
	}
	p.leaveGate()
	p.report.enter(StagePush)
	return p.push(ctx, change)
}

// aboutHead leaves out what was found in stand-ins: their texts are not in the inputs. An error
// in one that keeps its unit from being rendered is told where the object itself is wrong.
func (p *pass) aboutHead(diags diag.List) diag.List {
	var out diag.List
	for _, d := range diags {
		l := p.unreadable[objectID(d)]
		if l == nil || d.Code == diag.DuplicateObject {
			out = append(out, d)
			continue
		}
		if d.Severity == diag.Error && slices.ContainsFunc(p.plan, func(plan unitPlan) bool { return plan.isFailed() && slices.Contains(d.Units, plan.name) }) {
			d.Source, d.File, d.Line, d.Column = l.reason.Source, l.reason.File, l.reason.Line, l.reason.Column
			out = append(out, d)
		}
	}
	return out
}

// objectID is the object that a diagnostic is about.
func objectID(d diag.Diagnostic) manifest.ID {
	return manifest.ID{Kind: d.Object.Kind, Namespace: d.Object.Namespace, Name: d.Object.Name}
}

// sameInputs reports whether the input commits are those of an earlier pass.
func (p *pass) sameInputs(inputs []plumbing.Hash) bool {
	if len(inputs) != len(p.commits) || p.report.Diags.HasErrors() {
		return false
	}
	for i, c := range p.commits {
		if c.Hash != inputs[i] {
			return false
		}
	}
	return true
}

// remember keeps the outcome of a pass that found nothing to do, for as long as nothing
// moves.
func (p *pass) remember() {
	inputs := make([]plumbing.Hash, len(p.commits))
	for i, c := range p.commits {
		inputs[i] = c.Hash
	}
	p.memory.done = &done{inputs: inputs, tip: p.branch.Commit, report: p.report}
}

func (p *pass) error(code diag.Code, file, hint, format string, args ...any) {
	p.add(diag.Error, code, file, hint, format, args...)
}

// refuse is an error for which nothing is written.
func (p *pass) refuse(code diag.Code, file, hint, format string, args ...any) {
	p.error(code, file, hint, format, args...)
	p.refusedFor(p.report.Diags[len(p.report.Diags)-1])
}

// refusedFor notes why nothing is written. Of several reasons it is the one whose file comes
// first, in whatever order they were found.
func (p *pass) refusedFor(d diag.Diagnostic) {
	if r := p.report.Refused; r == nil || d.File < r.File {
		p.report.Refused = &d
	}
}

func (p *pass) warn(code diag.Code, file, hint, format string, args ...any) {
	p.add(diag.Warning, code, file, hint, format, args...)
}

func (p *pass) add(severity diag.Severity, code diag.Code, file, hint, format string, args ...any) {
	p.report.Diags = append(p.report.Diags, diag.Diagnostic{
		Severity: severity, Code: code, File: file, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}
