package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// inputs are everything that the conditions of a pipeline depend on.
type inputs struct {
	elsewhere, suspended bool
	refused              string // why it may not run with the others
	problem              string // why it cannot be opened
	outputDown           string // the error of the remote that it writes to
	sourceDown           string // the error of a remote that it only reads
	downPermanently      bool
	waits                string // what the rollout waits for
	busy                 bool   // it is in a pass, or will be
	result               string // of the last successful pass, in words
	last                 lastPass
}

// condition is a condition without its time.
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

// conditions returns the conditions of a pipeline. The first case that applies wins: it is the one to fix first.
func conditions(in inputs) []condition {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	switch {
	case in.elsewhere:
		return ready(unknown, ReasonElsewhere, "another replica makes the passes, or no replica does yet").and()
	case in.refused != "":
		return ready(no, meta.FailedReason, in.refused).and(stalled(meta.FailedReason, in.refused))
	case in.suspended:
		return ready(unknown, meta.SuspendedReason, "spec.suspend is true").and()
	case in.problem != "":
		return ready(no, meta.FailedReason, in.problem).and(stalled(meta.FailedReason, in.problem))
	case in.outputDown != "":
		return failed("the output cannot be reached: "+in.outputDown, in.downPermanently)
	case in.last.failure != "":
		return failed(in.last.failure, in.last.permanent)
	case in.waits != "":
		return ready(no, meta.DependencyNotReadyReason, in.waits).and(reconciling(meta.DependencyNotReadyReason,
			in.waits))
	case in.sourceDown != "":
		return failed("a source cannot be reached: "+in.sourceDown, in.downPermanently)
	case !in.last.succeeded:
		const message = "the first pass has not ended yet"
		return ready(unknown, meta.ProgressingReason, message).and(reconciling(meta.ProgressingReason, message))
	}
	out := passConditions(in)
	if in.busy {
		out = append(out, reconciling(meta.ProgressingReason, "a pass is running or about to begin"))
	}
	return out
}

// failed returns the conditions of a pipeline whose pass will be retried.
func failed(message string, permanent bool) []condition {
	out := ready(metav1.ConditionFalse, meta.FailedReason, message).and(reconciling(meta.ProgressingWithRetryReason,
		message))
	if permanent {
		out = append(out, stalled(meta.FailedReason, message))
	}
	return out
}

// passConditions returns the conditions that depend only on the last pass, which succeeded.
func passConditions(in inputs) []condition {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	switch {
	case in.last.refused != "":
		return ready(no, meta.BuildFailedReason, in.last.refused).and(stalled(meta.BuildFailedReason, in.last.refused))
	case in.last.problem != "":
		return ready(no, meta.BuildFailedReason, in.last.problem).and()
	}
	return ready(yes, meta.SucceededReason, in.result).and()
}

// timed sets the times of conditions: a condition keeps its time as long as its status is the same.
func timed(list []condition, before []metav1.Condition, now metav1.Time) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(list))
	for _, c := range list {
		next := metav1.Condition{Type: c.kind, Status: c.status, Reason: c.reason, Message: c.message,
			LastTransitionTime: now}
		if i := slices.IndexFunc(before, func(old metav1.Condition) bool {
			return old.Type == c.kind && old.Status == c.status
		}); i >= 0 {
			next.LastTransitionTime = before[i].LastTransitionTime
		}
		out = append(out, next)
	}
	return out
}

// Condition returns a condition by its type, or nil. For Reconciling and Stalled, nil means that they are not true.
func (s *Status) Condition(kind string) *metav1.Condition {
	return conditionOf(s.Conditions, kind)
}

func conditionOf(list []metav1.Condition, kind string) *metav1.Condition {
	if i := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == kind }); i >= 0 {
		return &list[i]
	}
	return nil
}

// state identifies what is logged and reported when it changes: the status and reason of Ready, and whether and why
// the pipeline is stalled.
func (s *Status) state() string {
	var b strings.Builder
	for _, kind := range []string{meta.ReadyCondition, meta.StalledCondition} {
		if c := s.Condition(kind); c != nil {
			fmt.Fprintf(&b, "%s=%s %s ", kind, c.Status, c.Reason)
		}
	}
	return b.String()
}

func (s *Status) isReady() bool {
	c := s.Condition(meta.ReadyCondition)
	return c != nil && c.Status == metav1.ConditionTrue
}

// log logs a change of state.
func (s *Status) log(log *slog.Logger) {
	c := s.Condition(meta.ReadyCondition)
	level, message := slog.LevelInfo, "pipeline is ready"
	switch {
	case c.Status == metav1.ConditionUnknown:
		message = "pipeline does not run"
	case s.Condition(meta.StalledCondition) != nil:
		level, message = slog.LevelError, "pipeline is stalled"
	case c.Status == metav1.ConditionFalse:
		level, message = slog.LevelWarn, "pipeline is not ready"
	}
	log.Log(context.Background(), level, message, "pipeline", s.Name, "reason", c.Reason, "message", c.Message)
}

// withRemedy returns an error as text for a condition, with what to do about it.
func withRemedy(err error) string {
	if way := pipeline.Remedy(err); way != "" {
		return err.Error() + "; " + way
	}
	return err.Error()
}
