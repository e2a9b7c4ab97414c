package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/pipeline"
	"github.com/agentry-dev/agentry/internal/telemetry"
)

// sync makes one pass over a pipeline and prints what it did.
func (e Env) sync(ctx context.Context, p *pipeline.Pipeline, options gitsync.Options, metrics *telemetry.Passes) error {
	if p.Spec.Suspend {
		return printSuspended(e.Stdout, p.Metadata.Name)
	}
	began := time.Now()
	report, failed := e.pass(ctx, p, options)
	metrics.Observe(telemetry.Pass{Pipeline: p.Metadata.Name, Report: report, Failed: failed != nil, Ended: time.Now(), Took: time.Since(began)})
	if err := cmp.Or(e.findings(report), failed); err != nil {
		return err
	}
	if err := printReport(e.Stdout, report, e.colored(e.Stdout)); err != nil {
		return err
	}
	if report.Ready().Status != metav1.ConditionTrue {
		return errFindings
	}
	return nil
}

// findings prints what a pass found, also one that failed.
func (e Env) findings(r *gitsync.Report) error {
	return diag.Text{Color: e.colored(e.Stderr)}.Print(e.Stderr, r.Diags)
}

// pass makes one pass over a pipeline. There is a report even if it fails.
func (e Env) pass(ctx context.Context, p *pipeline.Pipeline, options gitsync.Options) (report *gitsync.Report, err error) {
	report = &gitsync.Report{Pipeline: p.Metadata.Name}
	credentials, found := p.Credentials(e.LookupEnv)
	if err := e.configuration(nil, found); err != nil {
		return report, err
	}
	syncer, err := gitsync.New(p.Pipeline, credentials, options)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, syncer.Close()) }()
	defer e.progress(p.Metadata.Name + ": fetching and rendering")()
	if report, err = syncer.Pass(ctx); err != nil {
		err = repositoryError{err, repositoryHint(err)}
	}
	return report, err
}

// repositoryHint says what to look at first.
func repositoryHint(err error) string {
	switch {
	case errors.Is(err, repo.ErrHostKey):
		return "compare the host's key with knownHostsFile of the pipeline's auth"
	case errors.Is(err, repo.ErrAuth):
		return "check the pipeline's auth fields, and that the credential may read the source and push to the output branch"
	case errors.Is(err, repo.ErrRepositoryNotFound):
		return "check the URL; hosts say the same of a repository that the credential may not see"
	case errors.Is(err, repo.ErrRefNotFound), errors.Is(err, repo.ErrEmptyRepository):
		return "check sources[].ref; the reference must exist"
	case errors.Is(err, repo.ErrRejected):
		return "check the branch's protection rules; the credential must be allowed to push"
	}
	return ""
}
