package gitsync

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// pass is one attempt: gather, decide, write.
type pass struct {
	*Syncer
	last    bool         // of the attempts: there is no further one after a lost race
	reader  *repo.Reader // of the output's repository
	commits []*repo.Commit
	tip     tip
	set     *manifest.Set
	broken  bool // some document could not be read as an object
	plan    []unitPlan
	dirs    map[plumbing.Hash]map[string]repo.Entry // folders of the output branch
	report  *Report
}

// run makes the pass once everything is fetched.
func (p *pass) run(ctx context.Context) error {
	if err := p.readTip(); err != nil {
		return fmt.Errorf("read %s of %s: %w", p.pipeline.Spec.Output.Branch, p.output.URL(), err)
	}
	if p.refuseAdoption() {
		return nil
	}
	if err := p.readInputs(); err != nil {
		return err
	}
	rendered := generator.Render(p.set, p.render, p.memory.rendered)
	p.memory.rendered = rendered
	p.report.Diags = append(p.report.Diags, rendered.Diags...)
	if err := p.decide(rendered); err != nil {
		return fmt.Errorf("read the output branch: %w", err)
	}
	p.report.Set = p.set
	for _, u := range rendered.Units {
		p.report.Hierarchies = append(p.report.Hierarchies, u.Hierarchy)
	}
	if p.pipeline.Spec.OnInvalid == OnInvalidFail && p.report.Diags.HasErrors() {
		return nil
	}
	change, err := p.write()
	if err != nil || change == nil {
		return err
	}
	if p.options.DryRun {
		return nil
	}
	return p.push(ctx, change)
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
	p.memory.done = &done{inputs: inputs, tip: p.tip.commit, report: p.report}
}

func (p *pass) error(code diag.Code, file, hint, format string, args ...any) {
	p.add(diag.Error, code, file, hint, format, args...)
}

func (p *pass) warn(code diag.Code, file, hint, format string, args ...any) {
	p.add(diag.Warning, code, file, hint, format, args...)
}

func (p *pass) add(severity diag.Severity, code diag.Code, file, hint, format string, args ...any) {
	p.report.Diags = append(p.report.Diags, diag.Diagnostic{
		Severity: severity, Code: code, File: file, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}
