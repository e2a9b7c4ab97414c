package gitsync

import (
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/inputs/chart"
)

// done is the outcome of a pass that found nothing to do. It is valid as long as no ref moves.
type done struct {
	commits []plumbing.Hash // of the sources
	tip     plumbing.Hash   // of the output branch
	charts  []chart.Pinned
	report  *Report

	proposed, locked plumbing.Hash // with promotion: the tips of the proposed branch and of the branch of inputs
}

// remember keeps the outcome of the pass, and returns it. It is nil if a server of keys did not answer, because it may
// answer next time.
func (p *pass) remember(from *start) *done {
	if p.decrypter.IsIncomplete() || p.fileDecrypter.IsIncomplete() {
		return nil
	}
	d := &done{tip: from.branch.Commit, charts: from.inputs.Charts, report: p.report}
	for _, c := range from.commits {
		d.commits = append(d.commits, c.Hash)
	}
	p.memory.done = d
	return d
}

// isDone reports whether no ref moved since a pass that found nothing to do. The report is that of this pass then.
func (p *pass) isDone(ctx context.Context, from *start) bool {
	d := p.memory.done
	if again := p.chartVersions.Next(); !again.IsZero() && !time.Now().Before(again) {
		return false
	}
	if d == nil || d.tip != from.branch.Commit || p.report.Diags.HasErrors() || len(d.commits) != len(from.commits) {
		return false
	}
	for i, c := range from.commits {
		if c.Hash != d.commits[i] {
			return false
		}
	}
	from.inputs.Charts = d.charts
	if !p.isStillProposed(ctx, from, d) {
		return false
	}
	same := *d.report
	same.Stages = p.report.Stages
	p.report = &same
	return true
}
