package preview

import (
	"context"
	"errors"

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
}

// render makes a pass of the pipeline as it is, and one with a ref in the place of the
// source's.
func (r *renderer) render(ctx context.Context, ref string) (base, head *gitsync.Report, err error) {
	if r.base == nil {
		if r.base, err = r.open(nil); err != nil {
			return nil, nil, err
		}
	}
	if base, err = r.base.Pass(ctx); err != nil {
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
