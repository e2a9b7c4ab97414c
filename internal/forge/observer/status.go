package observer

import (
	"context"
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/outbox"
)

// statusContext returns the context of a pipeline's commit status.
func statusContext(pipeline string) string { return "agentry/" + pipeline }

// reportStatus queues the status of the input commits.
func (o *Observer) reportStatus(out fleet.Outcome) {
	state, text, ok := verdict(out)
	if !ok {
		return
	}
	d, name := out.Definition, out.After.Name
	for i, src := range d.Spec.Sources {
		if src.Forge == nil || i >= len(out.After.Sources) {
			continue
		}
		at := out.After.Sources[i]
		if at.Commit == "" || at.Stale {
			continue
		}
		pushed := ""
		if out.Report != nil {
			pushed = out.Report.Commit
		}
		status := forge.Status{Context: statusContext(name), State: state, Description: text}
		o.put(target{name, i}, report{at.Commit, state, text}, sameStatus, outbox.Job{
			Recipient: "status " + at.URL, Key: name + " " + at.Commit, What: "commit status",
			Do: func(ctx context.Context) error { return o.setStatus(ctx, d, i, at.Commit, pushed, status) },
		})
	}
}

func (o *Observer) setStatus(ctx context.Context, d *fleet.Definition, source int, commit, pushed string,
	s forge.Status) error {
	f, err := o.connect(d, source)
	if err != nil || f == nil {
		return err
	}
	if pushed != "" {
		// The status is set even if there is no link.
		if output, err := o.connect(d, proposal); err == nil && output != nil {
			s.URL = output.CommitURL(pushed)
		}
	}
	return f.SetStatus(ctx, commit, s)
}

// sameStatus reports whether there is nothing to send. A later successful pass over the same commit does not replace
// the status of the pass that changed something.
func sameStatus(old, now report) bool {
	return old == now || old.commit == now.commit && old.state == forge.Success && now.state == forge.Success
}

// verdict returns the state and description for the input commits, or false while they are unknown.
func verdict(out fleet.Outcome) (forge.State, string, bool) {
	ready := apimeta.FindStatusCondition(out.After.Conditions, meta.ReadyCondition)
	if ready == nil {
		return "", "", false
	}
	stalled := apimeta.FindStatusCondition(out.After.Conditions, meta.StalledCondition)
	switch {
	case ready.Status == metav1.ConditionTrue:
		return forge.Success, success(out), true
	case ready.Reason == meta.BuildFailedReason:
		return forge.Failure, ready.Message, true
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		return forge.Failure, stalled.Message, true
	case ready.Reason == meta.FailedReason, ready.Reason == meta.DependencyNotReadyReason:
		return forge.Pending, ready.Message, true
	}
	return "", "", false
}

// success describes the changes of a pass.
func success(out fleet.Outcome) string {
	var parts []string
	if out.Report != nil {
		count := map[plan.UnitState]int{}
		for _, u := range out.Report.Units {
			count[u.State]++
		}
		for _, s := range []plan.UnitState{plan.UnitAdded, plan.UnitChanged, plan.UnitRemoved} {
			if count[s] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
			}
		}
	}
	text := "1 unit rendered"
	if n := len(out.After.Units); n != 1 {
		text = fmt.Sprintf("%d units rendered", n)
	}
	switch {
	case len(parts) > 0 && out.Report.Proposed.Open():
		return text + ", proposed: " + strings.Join(parts, ", ")
	case len(parts) > 0 && out.Report.Commit != "":
		return text + ": " + strings.Join(parts, ", ")
	}
	return text + ", no changes"
}
