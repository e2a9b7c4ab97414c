package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// state is the state of a pipeline. An event is sent when it changes. It is comparable.
type state struct {
	settled bool // the other fields are known: the pipeline has made a pass in this replica
	ready   metav1.ConditionStatus
	reason  string
	stalled bool
	held    string // the objects and why
	inputs  string // the input commits
}

// stateOf returns the state after an outcome.
func stateOf(out fleet.Outcome) state {
	ready := apimeta.FindStatusCondition(out.After.Conditions, meta.ReadyCondition)
	if ready == nil || !out.After.Owned && !out.Removed {
		return state{}
	}
	s := state{
		ready: ready.Status, reason: ready.Reason,
		stalled: apimeta.IsStatusConditionTrue(out.After.Conditions, meta.StalledCondition),
		settled: ready.Reason != meta.ProgressingReason && ready.Reason != fleet.ReasonElsewhere,
	}
	var held, inputs []string
	for _, h := range out.After.Held {
		held = append(held, fmt.Sprintf("%s: %s %s", h, h.Reason.Code, h.Reason.Problem()))
	}
	for _, src := range out.After.Sources {
		inputs = append(inputs, src.Commit)
	}
	s.held, s.inputs = strings.Join(held, "\n"), strings.Join(inputs, " ")
	return s
}

// sameNews reports whether only the commits differ.
func (s state) sameNews(other state) bool {
	s.inputs = other.inputs
	return s == other
}

// isPush reports whether the outcome is a pass that pushed.
func isPush(out fleet.Outcome) bool {
	return out.IsPass() && out.Report != nil && out.Report.Commit != "" && !out.Report.DryRun
}

// describe returns the event for an outcome, if there is one. After a restart, the last event is unknown: then a
// problem is sent again, and a good state is not.
func describe(out fleet.Outcome, before state, known bool, now state) (message, bool) {
	m := message{pipeline: out.After.Name, at: time.Now(), severity: diag.Info, metadata: metadata(out)}
	pushed := isPush(out)
	isGood := now.ready == metav1.ConditionTrue
	changed := now.settled && (known && !now.sameNews(before) ||
		!known && !isGood && now.reason != meta.SuspendedReason)
	switch {
	case out.Removed:
		m.reason, m.text = "Removed", "is gone from the configuration; its branch is left unchanged"
	case changed:
		m.reason, m.text = now.reason, text(out, pushed)
		if now.stalled || !isGood && (now.reason == meta.BuildFailedReason || now.reason == meta.FailedReason) {
			m.severity = diag.Error
		}
	case pushed:
		m.reason, m.text = meta.SucceededReason, text(out, pushed)
	case known && now.settled && isGood && now.inputs != before.inputs:
		m.reason, m.text, m.onlyStatus = now.reason, text(out, pushed), true
	default:
		return message{}, false
	}
	m.text = cutMessage(m.text)
	return m, true
}

// metadata returns the metadata that Flux knows. The revision is the output commit; the origin revision is the first
// source's commit, on which Flux sets a commit status.
func metadata(out fleet.Outcome) map[string]string {
	all := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			all[key] = value
		}
	}
	if o := out.After.Output; o != nil {
		set(eventv1.MetaRevisionKey, revision(o.Branch, o.Commit))
	}
	if out.Report != nil && out.Report.Commit != "" {
		set(eventv1.MetaRevisionKey, revision(out.Report.Output.Branch, out.Report.Commit))
	}
	if out.Definition != nil && len(out.After.Sources) > 0 {
		branch := ""
		if len(out.Definition.Spec.Sources) > 0 {
			branch = out.Definition.Spec.Sources[0].Ref.Branch
		}
		set(eventv1.MetaOriginRevisionKey, revision(branch, out.After.Sources[0].Commit))
	}
	return all
}

// text returns the text for people: first what happened, then the details.
func text(out fleet.Outcome, pushed bool) string {
	var b strings.Builder
	ready := apimeta.FindStatusCondition(out.After.Conditions, meta.ReadyCondition)
	stalled := apimeta.FindStatusCondition(out.After.Conditions, meta.StalledCondition)
	switch {
	case pushed:
		fmt.Fprintf(&b, "pushed %s to %s of %s", short(out.Report.Commit), out.Report.Output.Branch,
			out.Report.Output.URL)
		if ready.Status != metav1.ConditionTrue {
			b.WriteString("; " + ready.Message)
		}
	case stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Message != "":
		b.WriteString(stalled.Message)
	default:
		b.WriteString(ready.Message)
	}
	if pushed {
		list(&b, "Units", units(out.Report))
	}
	var held []string
	for _, h := range out.After.Held {
		held = append(held, fmt.Sprintf("%s: %s", h, finding(h.Reason)))
	}
	list(&b, "Held", held)
	if ready.Reason == meta.BuildFailedReason && len(held) == 0 {
		var errs []string
		for _, f := range out.After.Findings.First {
			if f.Severity == diag.Error {
				errs = append(errs, finding(f))
			}
		}
		list(&b, "Errors", errs)
	}
	return b.String()
}

func finding(f diag.Diagnostic) string {
	if f.File == "" {
		return f.Problem()
	}
	return fmt.Sprintf("%s (%s:%d)", f.Problem(), f.File, f.Line)
}

// units returns the units that a commit is about.
func units(r *gitsync.Report) []string {
	var out []string
	for _, u := range r.Units {
		if slices.Contains([]plan.UnitState{plan.UnitAdded, plan.UnitChanged, plan.UnitRemoved}, u.State) {
			out = append(out, string(u.State)+" "+u.Name)
		}
	}
	return out
}

func short(commit string) string { return commit[:min(len(commit), 7)] }
