package gitsync

import (
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Ready returns the outcome of a pass as Flux's condition Ready, with Flux's reasons. It is false if anything is
// held, refused or has an error. The caller sets the time of the transition.
func (r *Report) Ready() metav1.Condition {
	c := metav1.Condition{Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: meta.SucceededReason}
	switch counts := r.Counts(); {
	case counts != (Counts{}):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, meta.BuildFailedReason, counts.String()
	case r.Refused != nil:
		c.Status, c.Reason = metav1.ConditionFalse, meta.BuildFailedReason
		c.Message = fmt.Sprintf("warnings: %d, which spec.failOn counts as errors", r.Diags.Count(diag.Warning))
	case r.Commit != "":
		c.Message = fmt.Sprintf("rendered to %s@sha1:%s", r.Output.Branch, r.Commit)
	case r.DryRun && len(r.Changes) > 0:
		c.Message = fmt.Sprintf("%d files would change", len(r.Changes))
	case r.Proposed.Open():
		c.Message = fmt.Sprintf("proposed as %s@sha1:%s, not merged into %s yet", r.Proposed.Branch, r.Proposed.Commit, r.Output.Branch)
	default:
		c.Message = fmt.Sprintf("%s@sha1:%s is up to date", r.Output.Branch, r.Output.Before)
	}
	return c
}

// Counts are the numbers of errors, and of the objects and units that are held or left out because of them.
type Counts struct{ Errors, Objects, Units int }

// Counts counts what is wrong.
func (r *Report) Counts() Counts {
	return Counts{r.Diags.Count(diag.Error), len(r.Held), len(r.HeldUnits())}
}

// String returns the counts as all programs and pages show them.
func (c Counts) String() string {
	return fmt.Sprintf("errors: %d, objects held or left out: %d, units held or left out: %d", c.Errors, c.Objects, c.Units)
}
