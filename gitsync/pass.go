package gitsync

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/tenancy"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/internal/index"
	"github.com/agentry-dev/agentry/gitsync/internal/lastgood"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// pass is one attempt of a pass. What it finds goes from stage to stage as values, and into the report.
type pass struct {
	*Syncer
	since  time.Time // what remotes answered after it is not asked again
	gate   gate
	budget *budget.Pass
	index  func() (*index.Index, error)
	report *Report
}

// run makes the pass: fetch, read, replace what cannot be read, render, decide, write, push.
func (p *pass) run(ctx context.Context) error {
	p.report.enter(StageFetch)
	p.index = p.readIndex()
	from, err := p.fetch(ctx)
	if err != nil || p.isDone(ctx, from) {
		return err
	}
	defer func() {
		p.report.Diags.Sort()
		p.blame(from)
	}()
	p.report.enter(StageWait)
	if err := p.gate.enter(ctx); err != nil {
		return err
	}
	defer p.gate.leave()
	p.budget = p.output.Budget().Pass(ctx)
	defer p.budget.End()
	p.report.enter(StageRender)
	rd := p.output.Reader()
	defer rd.Close()
	planned, err := p.decide(ctx, from, rd)
	if err != nil || p.report.Refused != nil {
		return err
	}
	if err := p.sealing.seal(ctx, planned, &p.options, from.tip.Proposed, rd); err != nil {
		return err
	}
	p.review(p.memory.output.Rendered.Units, planned)
	change, err := planned.Edit()
	if err != nil {
		return err
	}
	p.report.addPlan(planned)
	publish := p.push
	if p.promotes() {
		publish = p.propose
	}
	err = publish(ctx, from, change, p.destination(from, rd))
	p.report.add(change.Findings)
	if err == nil && time.Since(p.stored.written) > minWriteInterval {
		p.store()
	}
	return err
}

// keepBytes returns how many bytes of files a pass keeps with the values that they were printed from. More are printed
// once more if a difference needs the values. With little memory they are fewer.
func (p *pass) keepBytes() int64 { return min(8<<20, p.budget.Limit()/128) }

// decide reads and renders the inputs, and decides what becomes of the units. A refusal is in the report.
func (p *pass) decide(ctx context.Context, from *start, rd *object.Reader) (*plan.Plan, error) {
	output := &p.pipeline.Spec.Output
	if err := from.branch.Open(rd, &p.memory.branch); err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", output.Branch, p.output.URL(), err)
	}
	in := plan.Inputs{
		Pipeline: &p.pipeline, Branch: from.branch, Memory: p.memory.output,
		AllowDeletions: p.options.AllowDeletions, DryRun: p.options.DryRun,
	}
	if refused := plan.RefuseAdoption(in, p.output.URL()); refused.Refused != nil {
		p.report.add(refused)
		return nil, nil
	}
	known := p.recall()
	if err := p.read(ctx, from, &in); err != nil {
		return nil, err
	}
	if known != nil {
		in.Memory = p.restore(known)
	}
	options := p.render
	var err error
	if in.Current, err = in.Memory.Current(from.branch); err != nil {
		return nil, err
	}
	options.LastGood, options.Current = in.LastGood, in.Current
	options.Admit = p.budget.Take
	if !p.options.ReportRendered {
		options.KeepBytes = p.keepBytes()
		options.Store = func(data []byte) generator.Stored { return object.NewBlob(data) }
	}
	if !p.needsDetails() && p.sealing.sealer == nil {
		options.IsNew = func(unit string) bool { return from.branch.Units[unit] == nil }
	}
	set, err := p.decrypt(ctx, in.Objects.Set, &options)
	if err != nil {
		return nil, err
	}
	in.Rendered = generator.Render(set, options, in.Memory.Rendered)
	if in.Rendered.Refused != nil {
		return nil, fmt.Errorf("render the inputs: %w", in.Rendered.Refused)
	}
	p.report.Diags = in.Rendered.WithoutUnused(p.report.Diags)
	planned, err := plan.Decide(in)
	if err != nil {
		return nil, err
	}
	p.memory.output.Rendered = in.Rendered
	p.stored.outdated(&in)
	p.review(in.Rendered.Units, nil)
	p.report.add(planned.Findings)
	p.report.Diags.Sort()
	if first := p.pipeline.Spec.Refusal(p.report.Diags); first != nil {
		p.report.Refused = new(*first)
		return nil, nil
	}
	if err := planned.FindHeld(); err != nil {
		return nil, fmt.Errorf("read what is held: %w", err)
	}
	p.report.Set = in.Objects.Set
	explained := in.Rendered.Explained()
	explained.Diags, explained.Held = p.report.Diags, map[manifest.ID]diag.Diagnostic{}
	for _, h := range planned.Held() {
		if h.State == plan.UnitHeld && h.As.Commit != "" {
			explained.Held[h.ID] = h.Reason
		}
	}
	p.report.Explained = &explained
	for _, u := range in.Rendered.Units {
		if u.Hierarchy != nil {
			p.report.Hierarchies = append(p.report.Hierarchies, u.Hierarchy)
		}
	}
	return planned, nil
}

// review puts the units into the report of a pass that is asked for them. A plan that is nil has not encrypted anything
// yet.
func (p *pass) review(units []*generator.Unit, planned *plan.Plan) {
	switch {
	case !p.options.ReportRendered:
	case p.options.ShowSecrets:
		p.report.Rendered = units
	default:
		p.report.Rendered = p.sealing.reviewed(units, planned)
	}
}

// read reads the inputs, and replaces what cannot be read by its last good version.
func (p *pass) read(ctx context.Context, from *start, in *plan.Inputs) error {
	parse := p.pipeline.Spec.ParseOptions()
	p.sources.MayBeEmpty = p.pipeline.Spec.Limits.AllowEmpty || in.AllowsDeletions(from.commits)
	inputs, err := p.sources.Read(p.budget, from.commits, parse)
	if err != nil {
		return err
	}
	if p.report.Kept, err = p.sources.Files(p.budget, from.commits, p.options.Keep); err != nil {
		return err
	}
	p.report.Diags = append(p.report.Diags, inputs.Diags...)
	p.report.Ignored, p.report.Hidden, p.report.UnsetCharts = inputs.Ignored, inputs.Hidden, inputs.Unset
	if p.options.ReportRendered {
		p.report.Reads = func(source int, name string) bool { return inputs.Sources[source].Input.Reads(name) }
		p.report.Names = func(source int, folder string) bool { return inputs.Sources[source].Input.Names(folder) }
	}
	var warnings diag.List
	from.inputs.Charts, warnings = p.keepCharts(inputs)
	p.report.Diags, p.report.NextPass = append(p.report.Diags, warnings...), p.chartVersions.Next()
	history := &source.History{Inputs: inputs, Bases: from.bases, Parse: parse, Budget: p.budget,
		UseNetwork: p.useNetwork(ctx)}
	in.LastGood = lastgood.NewLastGood(from.branch, history, &p.memory.lastGood)
	in.RenderBase = sync.OnceValue(func() *generator.Output { return p.renderBase(ctx, *history, in.Rendered) })
	if in.Objects, err = lastgood.Replace(inputs, in.LastGood); err == nil {
		if t := p.pipeline.Spec.Tenancy; t != nil {
			p.report.Diags = append(p.report.Diags, tenancy.None(t.Folders, in.Objects.Set, p.report.Diags)...)
		}
		for _, pattern := range p.pipeline.Spec.Ignore.Unused(in.Objects.Set.All()) {
			p.report.Diags = append(p.report.Diags, diag.Diagnostic{Severity: diag.Warning, Code: diag.Unselected,
				Message: "spec.ignore: " + pattern + " is the path of no object",
				Hint:    "correct it, from the top of the repository, or remove it"})
		}
	}
	return err
}

// renderBase renders the commits that the output was last rendered from. Units with the same inputs are taken from now.
// It returns nil if something is in the way: it is only needed to describe the change in better words.
func (p *pass) renderBase(ctx context.Context, history source.History, now *generator.Output) *generator.Output {
	history.Budget = p.budget.Spare()
	set, err := history.ObjectsAtBase()
	if set == nil || err != nil {
		return nil
	}
	decrypter := p.decrypter // which keeps what the inputs of now need
	if set, _, err = decrypter.Decrypt(ctx, set, p.render.Needs(set)); err != nil {
		return nil
	}
	options := p.render
	options.Admit, options.KeepBytes = history.Budget.Take, 1
	if out := generator.Render(set, options, now); out.Refused == nil {
		return out
	}
	return nil
}

// decrypt adds the values of encrypted objects that are rendered to the set.
func (p *pass) decrypt(ctx context.Context, set *manifest.Set, options *generator.Options) (*manifest.Set, error) {
	opened, found, err := p.decrypter.Decrypt(ctx, set, options.Needs(set))
	if err != nil {
		return nil, fmt.Errorf("decrypt Secrets: %w", err)
	}
	p.report.Diags = append(p.report.Diags, found...)
	return opened, nil
}

// isRefused reports whether nothing may be written. A mistake on the first day must not leave a branch behind.
func (p *pass) isRefused(from *start, c *plan.Change) bool {
	isFirst := from.branch.Inventory == nil && len(c.Units) == 0
	return c.Refused != nil || isFirst && p.report.Diags.HasErrors()
}
