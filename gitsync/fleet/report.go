package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// record records a pass. Of a failed pass it records only the error.
func (s *Status) record(r *run) {
	s.LastPass = &PassStatus{Began: metav1.NewTime(r.began), Took: metav1.Duration{Duration: r.took},
		Trigger: r.request.reason}
	if r.request.token != "" {
		s.LastHandledReconcileAt = r.request.token
	}
	if r.err != nil {
		s.LastPass.Error = r.err.Error()
		return
	}
	report := r.report
	s.LastPass.Commit = report.Commit
	s.Sources = append([]gitsync.SourceStatus{}, report.Sources...)
	s.Findings = gitsync.NewFindings(report.Diags)
	if r.def.Expand != nil {
		s.Pipelines = make([]string, len(r.made))
		for i := range r.made {
			s.Pipelines[i] = r.made[i].Metadata.Name
		}
		return
	}
	s.Output = new(report.Output)
	s.Units = units(report.Units, s.Units)
	s.Held = append([]plan.HeldObject{}, report.Held...)
	s.History = history(s.History, s, r)
}

// summary returns the results of a successful pass that conditions depend on.
func (r *run) summary() lastPass {
	return lastPass{
		began: r.began, succeeded: true, rendered: r.report.Explained != nil,
		refused: refusal(r.def, r.report), problem: r.report.Problem(),
	}
}

// refusal returns why a successful pass was not allowed to write, and what to do about it, or "".
func refusal(def *Definition, report *gitsync.Report) string {
	if report.Refused == nil {
		return ""
	}
	text := report.Refused.Sentence()
	if def.Spec.OnInvalid == pipeline.OnInvalidFail {
		text = "nothing is written, as spec.onInvalid is fail: " + text
	}
	return text
}

// units returns all units that were not removed. Conditions that have not changed keep their times.
func units(reports []gitsync.UnitStatus, before []UnitStatus) []UnitStatus {
	known := make(map[string][]metav1.Condition, len(before))
	for _, u := range before {
		known[u.Name] = u.Conditions
	}
	out := make([]UnitStatus, 0, len(reports))
	now := metav1.Now()
	for _, u := range reports {
		if u.State == plan.UnitRemoved {
			continue
		}
		out = append(out, UnitStatus{u, timed([]condition{unitCondition(u)}, known[u.Name], now)})
	}
	return out
}

func unitCondition(u gitsync.UnitStatus) condition {
	switch u.State {
	case plan.UnitHeld, plan.UnitLeftOut:
		return ready(metav1.ConditionFalse, meta.BuildFailedReason, u.Reason)
	case plan.UnitPaused:
		return ready(metav1.ConditionTrue, meta.SuspendedReason, "kept as it is: its GrafanaAgent is paused")
	}
	return ready(metav1.ConditionTrue, meta.SucceededReason, "rendered")
}

// history adds the tip of the output after a pass.
func history(before meta.History, s *Status, r *run) meta.History {
	if s.Output.Commit == "" {
		return before
	}
	metadata := map[string]string{"revision": fmt.Sprintf("%s@sha1:%s", s.Output.Branch, s.Output.Commit)}
	if len(s.Sources) > 0 {
		metadata["originRevision"] = originRevision(r.def.Spec.Sources[0].Ref, s.Sources[0].Commit)
		if subject := s.Sources[0].Subject; subject != "" {
			metadata["originSubject"] = subject
		}
	}
	status := meta.SucceededReason
	if r.report.Diags.HasErrors() {
		status = meta.BuildFailedReason
	}
	out := slices.Clone(before)
	out.Upsert("sha1:"+s.Output.Commit, r.began, r.took.Round(time.Millisecond), status, metadata)
	return out
}

// originRevision returns a commit in Flux's notation: <branch or tag>@sha1:<commit>.
func originRevision(ref pipeline.Ref, commit string) string {
	if name := cmp.Or(ref.Branch, ref.Tag, ref.Name); name != "" {
		return name + "@sha1:" + commit
	}
	return "sha1:" + commit
}
