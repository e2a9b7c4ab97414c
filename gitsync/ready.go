package gitsync

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// Ready returns the outcome of a pass as Flux's condition Ready, with Flux's reasons. It is false if anything is
// held, refused or has an error. The caller sets the time of the transition.
func (r *Report) Ready() metav1.Condition {
	c := metav1.Condition{Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: meta.SucceededReason}
	switch problem := r.Problem(); {
	case problem != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, meta.BuildFailedReason, problem
	case r.Refused != nil:
		c.Status, c.Reason = metav1.ConditionFalse, meta.BuildFailedReason
		c.Message = fmt.Sprintf("warnings: %d, which spec.failOn counts as errors", r.Diags.Count(diag.Warning))
	case r.Commit != "":
		c.Message = fmt.Sprintf("rendered to %s@sha1:%s", r.Output.Branch, r.Commit)
	case r.DryRun && len(r.Changes) > 0:
		c.Message = fmt.Sprintf("%d files would change", len(r.Changes))
	case r.Proposed.Open():
		c.Message = fmt.Sprintf("proposed as %s@sha1:%s, not merged into %s yet", r.Proposed.Branch, r.Proposed.Commit,
			r.Output.Branch)
	default:
		c.Message = fmt.Sprintf("%s@sha1:%s is up to date", r.Output.Branch, r.Output.Before)
	}
	return c
}

// Problem says in one sentence what is wrong with what was read, or nothing: what is held and left out, or the number
// of errors, and the first error. All programs and pages show it.
func (r *Report) Problem() string {
	objects, units := r.withheld()
	parts := append(objects.words("object"), units.words("unit")...)
	switch n := r.Diags.Count(diag.Error); {
	case len(parts) > 0:
	case n == 1:
		parts = []string{"1 error"}
	case n > 1:
		parts = []string{fmt.Sprintf("%d errors", n)}
	default:
		return ""
	}
	text := strings.Join(parts, ", ")
	if i := slices.IndexFunc(r.Diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }); i >= 0 {
		text += "; first: " + r.Diags[i].Sentence()
	}
	return text
}

// withheld are numbers of objects, or of units, that are not as in the inputs.
type withheld struct{ held, leftOut int }

func (r *Report) withheld() (objects, units withheld) {
	for _, h := range r.Held {
		objects.add(h.State)
	}
	for _, u := range r.HeldUnits() {
		units.add(u.State)
	}
	return objects, units
}

func (w *withheld) add(state plan.UnitState) {
	if state == plan.UnitHeld {
		w.held++
	} else {
		w.leftOut++
	}
}

func (w withheld) words(noun string) (out []string) {
	switch {
	case w.held == 1:
		out = append(out, "1 "+noun+" is held at its last good version")
	case w.held > 1:
		out = append(out, fmt.Sprintf("%d %ss are held at their last good version", w.held, noun))
	}
	switch {
	case w.leftOut == 1:
		out = append(out, "1 "+noun+" is left out")
	case w.leftOut > 1:
		out = append(out, fmt.Sprintf("%d %ss are left out", w.leftOut, noun))
	}
	return out
}
