package cli

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/pipeline"
)

// pass makes one pass over a pipeline and prints what it did.
func (e Env) pass(ctx context.Context, p *pipeline.Pipeline, options gitsync.Options) (err error) {
	if p.Spec.Suspend {
		return printSuspended(e.Stdout, p.Metadata.Name)
	}
	credentials, found := p.Credentials(e.LookupEnv)
	if err := e.configuration(nil, found); err != nil {
		return err
	}
	syncer, err := gitsync.New(p.Pipeline, credentials, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, syncer.Close()) }()
	done := e.progress(p.Metadata.Name + ": fetching, rendering and pushing")
	report, failed := syncer.Pass(ctx)
	done()
	if report == nil {
		report = &gitsync.Report{}
	}
	if err := (diag.Text{Color: e.colored(e.Stderr)}).Print(e.Stderr, report.Diags); err != nil {
		return err
	}
	if failed != nil {
		return repositoryError{failed, repositoryHint(failed)}
	}
	if err := printReport(e.Stdout, report); err != nil {
		return err
	}
	if report.Ready().Status != metav1.ConditionTrue {
		return errFindings
	}
	return nil
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
