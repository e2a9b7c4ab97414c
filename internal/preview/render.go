package preview

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// renderer makes the dry passes of one round.
type renderer struct {
	options Options
	def     *fleet.Definition
	source  int
	base    *gitsync.Syncer // kept for the round: it renders again only if something moved
	print   string          // of its last pass: equal for those that heads compare equal with
}

// render makes a pass of the pipeline as it is, and one with a ref in the place of the
// source's.
func (r *renderer) render(ctx context.Context, ref string) (base, head *gitsync.Report, err error) {
	if base, err = r.asItIs(ctx); err != nil {
		return nil, nil, err
	}
	s, err := r.open(map[int]repo.Ref{r.source: {Name: ref}})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	head, err = s.Pass(ctx)
	return base, head, err
}

// asItIs makes a pass of the pipeline as it is.
func (r *renderer) asItIs(ctx context.Context) (*gitsync.Report, error) {
	var err error
	if r.base == nil {
		if r.base, err = r.open(nil); err != nil {
			return nil, err
		}
	}
	report, err := r.base.Pass(ctx)
	if err != nil {
		return nil, err
	}
	r.print = r.fingerprint(report)
	return report, nil
}

// fingerprint is of all that a comparison sees of the pipeline as it is: what it renders and finds,
// and which commits of the other sources heads are rendered with.
func (r *renderer) fingerprint(report *gitsync.Report) string {
	sum := sha256.New()
	part := func(format string, args ...any) { fmt.Fprintf(sum, format+"\x00", args...) }
	for i, s := range report.Sources {
		part("%t", s.Stale)
		if i != r.source {
			part("%s", s.Commit)
		}
	}
	for _, u := range report.Rendered {
		part("%s %t", u.Name, stays(u))
		for _, f := range u.Files {
			part("%s %x", f.Path, sha256.Sum256(f.Data))
		}
	}
	for _, h := range report.Held {
		part("%s %s", h.Object, h.Reason.Message)
	}
	for _, d := range report.Diags {
		part("%s", d)
	}
	return string(sum.Sum(nil))
}

func (r *renderer) open(heads map[int]repo.Ref) (*gitsync.Syncer, error) {
	creds, err := r.def.Credentials()
	if err != nil {
		return nil, err
	}
	return gitsync.New(r.def.Pipeline, creds, gitsync.Options{
		Heads: heads, Pool: r.options.Pool, Gate: r.options.Gate, Version: r.options.Version, DryRun: true, Review: true, Timeout: Timeout,
	})
}

func (r *renderer) close() {
	if r.base == nil {
		return
	}
	if err := r.base.Close(); err != nil {
		r.options.Log.Warn("repositories of a preview are not closed", "pipeline", r.def.Metadata.Name, "err", err)
	}
	r.base = nil
}
