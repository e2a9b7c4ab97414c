package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// isOfPass reports whether a command is about a pass of a pipeline, in place of PATHs.
func isOfPass(env Env, flags *cli.Context, paths []string) bool {
	return command.IsTyped(flags, env.LookupEnv, "file") || flags.String("file") != "" && len(paths) == 0
}

// dryPass makes a pass of the pipeline that the flags name, with options that the caller sets, and pushes nothing. If
// the report is nil, the command ends with the error, which is nil for a suspended pipeline.
func dryPass(ctx context.Context, env Env, flags *cli.Context, paths []string,
	also ...func(*pipelinefile.Pipeline, *gitsync.Options)) (*gitsync.Report, error) {
	p, options, err := onePipeline(ctx, env, flags, paths)
	if p == nil {
		return nil, err
	}
	for _, set := range also {
		set(p, &options)
	}
	return env.dry(ctx, p, options)
}

// onePipeline returns the pipeline that the flags name, and the options for a dry pass. It is nil if the command ends,
// with an error or, for a suspended pipeline, without one.
func onePipeline(ctx context.Context, env Env, flags *cli.Context, paths []string) (p *pipelinefile.Pipeline,
	options gitsync.Options, err error) {
	if len(paths) > 0 {
		return nil, options, command.Usagef("leave out one of them", "a pipeline file and a PATH are given")
	}
	for _, f := range renderFlags() {
		if name := f.Names()[0]; command.IsTyped(flags, env.LookupEnv, name) {
			return nil, options, command.Usagef("set it in the pipeline file", "--%s has no effect with -f", name)
		}
	}
	fleet, options, err := env.passes(ctx, flags)
	if err != nil {
		return nil, options, err
	}
	if len(fleet) == 0 {
		return nil, options, command.Usagef("", "%s makes no pipeline of any folder", flags.String("file"))
	}
	if len(fleet) > 1 {
		return nil, options, command.Usagef("pick one with --pipeline", "%s holds %d pipelines", flags.String("file"),
			len(fleet))
	}
	if fleet[0].Spec.Suspend {
		return nil, options, display.PrintSuspended(env.Stderr, fleet[0].Metadata.Name)
	}
	options.DryRun, options.ReportRendered = true, true
	return fleet[0], options, nil
}

// dry makes a pass that pushes nothing. If it fails, what it found is printed.
func (e Env) dry(ctx context.Context, p *pipelinefile.Pipeline, options gitsync.Options) (*gitsync.Report, error) {
	report, err := e.pass(ctx, p, options)
	if errors.Is(err, errConfiguration) {
		return nil, e.configuration(report.Diags)
	}
	if err != nil {
		return nil, cmp.Or(e.findings(report), err)
	}
	return report, nil
}

// units returns the units of PATHs, or those that a pass of the pipeline would write, and what was found. A unit that
// stays as it is on the output branch has no files; a suspended pipeline has no units.
func (e Env) units(ctx context.Context, flags *cli.Context, paths []string) ([]*generator.Unit, diag.List, error) {
	if isOfPass(e, flags, paths) {
		report, err := dryPass(ctx, e, flags, paths)
		if report == nil {
			return nil, nil, err
		}
		return unitsAfter(report), report.Diags, nil
	}
	in, err := e.load(ctx, flags, paths)
	if err != nil {
		return nil, nil, err
	}
	out := in.render(diag.Warning)
	return out.Units, out.Diags, nil
}

// unitsAfter returns the units as they would be on the output branch after a dry pass. A unit that stays as it is
// counts as paused.
func unitsAfter(r *gitsync.Report) []*generator.Unit {
	rendered := map[string]*generator.Unit{}
	for _, u := range r.Rendered {
		rendered[u.Name] = u
	}
	var out []*generator.Unit
	for _, u := range r.Units {
		switch {
		case u.State == plan.UnitHeld || u.State == plan.UnitPaused:
			out = append(out, &generator.Unit{Name: u.Name, Paused: true})
		case rendered[u.Name] != nil && u.State != plan.UnitLeftOut:
			out = append(out, rendered[u.Name])
		}
	}
	return out
}

// summaryOfPass returns the counts of what a pass read and rendered.
func summaryOfPass(r *gitsync.Report) string {
	s := r.Pipeline
	if r.Set != nil {
		s += fmt.Sprintf(": %s, %s", display.Amount(len(r.Set.All()), "object"),
			display.Amount(len(r.Hierarchies), "GrafanaAgent"))
	}
	if n := display.Total(r.Ignored); n > 0 {
		s += fmt.Sprintf(" (ignored %s of other kinds)", display.Amount(n, "object"))
	}
	return s
}
