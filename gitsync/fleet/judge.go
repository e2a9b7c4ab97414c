package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// facts are all that the conditions of a pipeline depend on.
type facts struct {
	elsewhere, suspended bool
	refused              string // another definition comes first
	trouble              string // it cannot be opened
	outputDown           string // the error of the remote that it writes to
	sourcesDown          string // and of one that it only reads
	permanentlyDown      bool
	waits                string // for whom the rollout holds it back
	busy                 bool   // a pass is under way or to be made
	made                 string // what the last good pass left, in words
	last                 lastPass
}

// condition is one without its time.
type condition struct {
	kind    string
	status  metav1.ConditionStatus
	reason  string
	message string
}

func (c condition) and(more ...condition) []condition { return append([]condition{c}, more...) }

func ready(status metav1.ConditionStatus, reason, message string) condition {
	return condition{meta.ReadyCondition, status, reason, message}
}

func reconciling(reason, message string) condition {
	return condition{meta.ReconcilingCondition, metav1.ConditionTrue, reason, message}
}

func stalled(reason, message string) condition {
	return condition{meta.StalledCondition, metav1.ConditionTrue, reason, message}
}

// judge says how a pipeline is. The first case that applies is the one that has to be dealt
// with first.
func judge(f facts) []condition {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	switch {
	case f.elsewhere:
		return ready(unknown, ReasonElsewhere, "another replica runs it, or none does yet").and()
	case f.refused != "":
		return ready(no, meta.FailedReason, f.refused).and(stalled(meta.FailedReason, f.refused))
	case f.suspended:
		return ready(unknown, meta.SuspendedReason, "spec.suspend is true").and()
	case f.trouble != "":
		return ready(no, meta.FailedReason, f.trouble).and(stalled(meta.FailedReason, f.trouble))
	case f.outputDown != "":
		return failed("the output cannot be reached: "+f.outputDown, f.permanentlyDown)
	case f.last.failure != "":
		return failed(f.last.failure, f.last.permanent)
	case f.waits != "":
		return ready(no, meta.DependencyNotReadyReason, f.waits).and(reconciling(meta.DependencyNotReadyReason, f.waits))
	case f.sourcesDown != "":
		return failed("a source cannot be reached: "+f.sourcesDown, f.permanentlyDown)
	case !f.last.made:
		const message = "the first pass has not ended yet"
		return ready(unknown, meta.ProgressingReason, message).and(reconciling(meta.ProgressingReason, message))
	}
	out := judgePass(f)
	if f.busy {
		out = append(out, reconciling(meta.ProgressingReason, "a pass is under way or about to begin"))
	}
	return out
}

// failed is the state of what will be tried again.
func failed(message string, permanent bool) []condition {
	out := ready(metav1.ConditionFalse, meta.FailedReason, message).and(reconciling(meta.ProgressingWithRetryReason, message))
	if permanent {
		out = append(out, stalled(meta.FailedReason, message))
	}
	return out
}

// judgePass says how a pipeline is of which nothing is known but its last pass, which ended
// well.
func judgePass(f facts) []condition {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	switch {
	case f.last.refused != "":
		return ready(no, meta.BuildFailedReason, f.last.refused).and(stalled(meta.BuildFailedReason, f.last.refused))
	case f.last.errors+f.last.held > 0:
		text := fmt.Sprintf("errors in the inputs: %d; units that are held or left out: %d", f.last.errors, f.last.held)
		if f.last.first != "" {
			text += "; first: " + f.last.first
		}
		return ready(no, meta.BuildFailedReason, text).and()
	}
	return ready(yes, meta.SucceededReason, f.made).and()
}

// timed gives conditions their times: that of the earlier one while the status is the same.
func timed(conditions []condition, before []metav1.Condition, now metav1.Time) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(conditions))
	for _, c := range conditions {
		next := metav1.Condition{Type: c.kind, Status: c.status, Reason: c.reason, Message: c.message, LastTransitionTime: now}
		if i := slices.IndexFunc(before, func(old metav1.Condition) bool { return old.Type == c.kind && old.Status == c.status }); i >= 0 {
			next.LastTransitionTime = before[i].LastTransitionTime
		}
		out = append(out, next)
	}
	return out
}

// Condition finds a condition by its type; nil if there is none, which for Reconciling and
// Stalled means that they are not true.
func (s *Status) Condition(kind string) *metav1.Condition {
	return conditionOf(s.Conditions, kind)
}

func conditionOf(list []metav1.Condition, kind string) *metav1.Condition {
	if i := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == kind }); i >= 0 {
		return &list[i]
	}
	return nil
}

// state is what people and observers are told of when it changes: the status and reason of
// Ready, and whether and why the pipeline is stalled.
func (s *Status) state() string {
	var b strings.Builder
	for _, kind := range []string{meta.ReadyCondition, meta.StalledCondition} {
		if c := s.Condition(kind); c != nil {
			fmt.Fprintf(&b, "%s=%s %s ", kind, c.Status, c.Reason)
		}
	}
	return b.String()
}
