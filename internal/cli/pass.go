package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/panics"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/telemetry"
)

// fleetSync makes one pass of each pipeline of a fleet.
type fleetSync struct {
	Env
	options gitsync.Options
	metrics *telemetry.Passes
	format  string // for programs, results are printed when all passes have ended
	several bool   // findings need the name of their pipeline
	results display.Results
}

// sync makes one pass of a pipeline and keeps the result. An error names the pipeline.
func (f *fleetSync) sync(ctx context.Context, p *pipelinefile.Pipeline) error {
	name := p.Metadata.Name
	if p.Spec.Suspend {
		f.add(display.Idle(name, display.Suspended))
		if command.IsData(f.format) {
			return nil
		}
		return display.PrintSuspended(f.Stdout, name)
	}
	began := time.Now()
	report, failed := f.pass(ctx, p, f.options)
	f.metrics.Observe(telemetry.Pass{Pipeline: name, Report: report, Failed: failed != nil, Ended: time.Now(),
		Took: time.Since(began)})
	outcome := display.Failed
	if failed == nil {
		outcome = display.OutcomeOf(report)
	}
	result := display.NewResult(report, outcome)
	if failed != nil {
		result.Error, result.Hint = diag.Plain(failed.Error()), command.Hint(failed)
		if errors.Is(failed, errConfiguration) {
			result.Error = "the pipeline is not valid"
		}
		failed = fmt.Errorf("%s: %w", name, failed)
	}
	f.add(result)
	if err := cmp.Or(f.print(report, failed), failed); err != nil {
		return err
	}
	if !result.Ready {
		return command.ErrFindings
	}
	return nil
}

func (f *fleetSync) add(r display.Result) { f.results.Pipelines = append(f.results.Pipelines, r) }

// print prints what a pass found and, unless it failed, what it did.
func (f *fleetSync) print(r *gitsync.Report, failed error) error {
	if command.IsData(f.format) {
		return nil
	}
	if f.several && len(r.Diags) > 0 {
		fmt.Fprintf(f.Stderr, "%s: %s\n", r.Pipeline, findings(r.Diags))
	}
	if err := f.findings(r); err != nil || failed != nil {
		return err
	}
	return display.Pass(f.Stdout, r, f.colored(f.Stdout))
}

// end prints what is known only after the last pass.
func (f *fleetSync) end() error {
	if command.IsData(f.format) {
		if err := command.WriteData(f.Stdout, f.format, f.results); err != nil {
			return err
		}
	}
	if !f.several {
		return nil
	}
	return f.results.Summary(f.Stderr)
}

// findings prints the diagnostics of a pass, even of one that failed.
func (e Env) findings(r *gitsync.Report) error {
	return diag.Text{Color: e.colored(e.Stderr)}.Print(e.Stderr, r.Diags)
}

// errConfiguration ends a pass that cannot begin. The diagnostics of its report say why.
const errConfiguration = command.ReportedError(command.ExitUsage)

// pass makes one pass of a pipeline. It returns a report even if the pass fails.
func (e Env) pass(ctx context.Context, p *pipelinefile.Pipeline, options gitsync.Options) (report *gitsync.Report,
	err error) {
	report = &gitsync.Report{Pipeline: p.Metadata.Name}
	credentials, found := p.Credentials(e.LookupEnv)
	if found.HasErrors() {
		report.Diags = found
		return report, errConfiguration
	}
	syncer, err := gitsync.New(p.Pipeline, credentials, options)
	if err != nil {
		return report, err
	}
	defer syncer.Close()
	defer e.progress(p.Metadata.Name + ": fetching and rendering")()
	defer func() {
		if value := recover(); value != nil { // ends this pipeline and no other
			err = panics.Of(value)
		}
	}()
	if report, err = syncer.Pass(ctx); err != nil {
		err = command.RepositoryError(err, pipeline.Remedy(err))
	}
	return report, err
}
