package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/forge"
)

// result has the changes that a pull request would make.
type result struct {
	head    string // the commit
	base    string // the base commit
	refused string // reason why the head was not rendered
	changes *difference.Difference
	held    []plan.HeldObject // held only in the head
	diags   diag.List         // only in the head
	known   int               // number of errors and warnings in the base
}

// compare returns the changes that the head makes to the output. Units that could not be rendered, in the base or the
// head, keep their folders and are reported as held.
func compare(base, head *gitsync.Report, source int) result {
	r := result{changes: &difference.Difference{}}
	if source < len(head.Sources) {
		r.head = head.Sources[source].Commit
		if head.Sources[source].Stale {
			r.refused = "the head cannot be read or is not accepted"
		}
	}
	if source < len(base.Sources) {
		r.base = base.Sources[source].Commit
		if base.Sources[source].Stale {
			r.refused = "the target branch cannot be read"
		}
	}
	for _, d := range head.Diags {
		switch {
		case d.Severity == diag.Info:
		case slices.ContainsFunc(base.Diags, d.Same):
			r.known++
		default:
			r.diags = append(r.diags, d)
		}
	}
	for _, h := range head.Held {
		if !slices.ContainsFunc(base.Held, func(b plan.HeldObject) bool {
			return b.ID == h.ID && b.Reason.Problem() == h.Reason.Problem()
		}) {
			r.held = append(r.held, h)
		}
	}
	if r.refused == "" {
		r.changes = generator.Compare(base.Rendered, head.Rendered)
	}
	return r
}

// isEmpty reports whether there is nothing to report.
func (r *result) isEmpty() bool {
	return r.refused == "" && r.changes.IsEmpty() && len(r.held) == 0 && len(r.diags) == 0
}

// verdict returns the commit status.
func (r *result) verdict() (forge.State, string) {
	errors := r.diags.Count(diag.Error)
	switch {
	case r.refused != "":
		return forge.Failure, r.refused
	case errors > 0 || len(r.held) > 0:
		return forge.Failure, r.summary()
	}
	return forge.Success, r.summary()
}

// summary returns one line about the whole result.
func (r *result) summary() string {
	var parts []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	if !r.changes.IsEmpty() {
		parts = append(parts, r.changes.Summary())
	}
	count(len(r.held), "object would be held", "objects would be held")
	count(r.diags.Count(diag.Error), "new error", "new errors")
	count(r.diags.Count(diag.Warning), "new warning", "new warnings")
	if len(parts) == 0 {
		return "No changes"
	}
	return strings.Join(parts, ", ")
}
