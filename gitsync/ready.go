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
	switch errors := r.Diags.Count(diag.Error); {
	case errors > 0:
		c.Status, c.Reason = metav1.ConditionFalse, meta.BuildFailedReason
		c.Message = fmt.Sprintf("errors: %d, objects held: %d, units held back: %d", errors, len(r.Held), len(r.HeldUnits()))
	case r.Refused != nil:
		c.Status, c.Reason = metav1.ConditionFalse, meta.BuildFailedReason
		c.Message = fmt.Sprintf("warnings: %d, which spec.failOn counts as errors", r.Diags.Count(diag.Warning))
	case r.Commit != "":
		c.Message = fmt.Sprintf("rendered to %s@sha1:%s", r.Output.Branch, r.Commit)
	case r.DryRun && len(r.Changes) > 0:
		c.Message = fmt.Sprintf("%d files would change", len(r.Changes))
	default:
		c.Message = fmt.Sprintf("%s@sha1:%s is up to date", r.Output.Branch, r.Output.Before)
	}
	return c
}
