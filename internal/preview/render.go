package preview

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// renderer does the dry runs of one round.
type renderer struct {
	options Options
	def     *fleet.Definition
	source  int
	base    *gitsync.Syncer // kept for the round: it renders again only if something changed
	// fingerprint is the fingerprint of the last dry run of base. Comparisons with equal fingerprints have equal
	// results.
	fingerprint string
}

// render does a dry run of the pipeline itself, and one with another ref for the source.
func (r *renderer) render(ctx context.Context, ref string) (base, head *gitsync.Report, err error) {
	if base, err = r.renderBase(ctx); err != nil {
		return nil, nil, err
	}
	heads := map[int]repo.Ref{}
	for _, i := range sameBranch(r.def, r.source) {
		heads[i] = repo.Ref{Name: ref}
	}
	s, err := r.open(heads)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	head, err = s.Pass(ctx)
	return base, head, err
}

// renderBase does a dry run of the pipeline itself.
func (r *renderer) renderBase(ctx context.Context) (*gitsync.Report, error) {
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
	r.fingerprint = fingerprint(report, sameBranch(r.def, r.source))
	return report, nil
}

// sameBranch returns the sources that read the branch of a source, by index: merging a pull request moves all of them.
func sameBranch(d *fleet.Definition, source int) (out []int) {
	of := d.Spec.Sources[source]
	for i, src := range d.Spec.Sources {
		if src.SameRef(of) {
			out = append(out, i)
		}
	}
	return out
}

// fingerprint identifies everything in the base that a comparison depends on: its output and diagnostics, and the
// commits of the other sources, with which heads are rendered too.
func fingerprint(report *gitsync.Report, replaced []int) string {
	sum := sha256.New()
	part := func(format string, args ...any) { fmt.Fprintf(sum, format+"\x00", args...) }
	for i, s := range report.Sources {
		part("%t", s.Stale)
		if !slices.Contains(replaced, i) {
			part("%s", s.Commit)
		}
	}
	for _, u := range report.Rendered {
		part("%s %t", u.Name, u.Stays())
		for _, f := range u.Files {
			part("%s %x", f.Path, sha256.Sum256(f.Data))
		}
	}
	for _, h := range report.Held {
		part("%s %s", h, h.Reason.Problem())
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
		SourceRefs: heads, Pool: r.options.Pool, Gate: r.options.Gate, Version: r.options.Version, DryRun: true,
		ReportRendered: true, ShowSecrets: true, KeepCharts: true, Timeout: Timeout,
	})
}

func (r *renderer) close() {
	if r.base != nil {
		r.base.Close()
		r.base = nil
	}
}
