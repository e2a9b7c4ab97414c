package cli

import (
	"cmp"
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/fault"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/telemetry"
)

// sync makes one pass of a pipeline and prints the result.
func (e Env) sync(ctx context.Context, p *pipelinefile.Pipeline, options gitsync.Options, metrics *telemetry.Passes) error {
	if p.Spec.Suspend {
		return display.Suspended(e.Stdout, p.Metadata.Name)
	}
	began := time.Now()
	report, failed := e.pass(ctx, p, options)
	metrics.Observe(telemetry.Pass{Pipeline: p.Metadata.Name, Report: report, Failed: failed != nil, Ended: time.Now(), Took: time.Since(began)})
	if err := cmp.Or(e.findings(report), failed); err != nil {
		return err
	}
	if err := display.Pass(e.Stdout, report, e.colored(e.Stdout)); err != nil {
		return err
	}
	if report.Ready().Status != metav1.ConditionTrue {
		return command.ErrFindings
	}
	return nil
}

// findings prints the diagnostics of a pass, even of one that failed.
func (e Env) findings(r *gitsync.Report) error {
	return diag.Text{Color: e.colored(e.Stderr)}.Print(e.Stderr, r.Diags)
}

// pass makes one pass of a pipeline. It returns a report even if the pass fails.
func (e Env) pass(ctx context.Context, p *pipelinefile.Pipeline, options gitsync.Options) (report *gitsync.Report, err error) {
	report = &gitsync.Report{Pipeline: p.Metadata.Name}
	credentials, found := p.Credentials(e.LookupEnv)
	if err := e.configuration(nil, found); err != nil {
		return report, err
	}
	syncer, err := gitsync.New(p.Pipeline, credentials, options)
	if err != nil {
		return report, err
	}
	defer syncer.Close()
	defer e.progress(p.Metadata.Name + ": fetching and rendering")()
	defer func() {
		if value := recover(); value != nil { // ends this pipeline and no other
			err = fault.Of(value)
		}
	}()
	if report, err = syncer.Pass(ctx); err != nil {
		err = command.RepositoryError(err, pipeline.Remedy(err))
	}
	return report, err
}
