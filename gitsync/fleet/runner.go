package fleet

import (
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/panics"
)

// runner is one definition and its state. Its fields are guarded by Fleet.mu.
type runner struct {
	def     *Definition
	owned   bool   // by this replica
	refused string // why it may not run beside the others
	removed bool   // from the configuration; it stays until its pass has ended

	generation int // counts the changes of the definition

	phase     phase
	instance  *instance // nil while it is not open
	problem   string    // why it cannot be opened, or has no credentials
	request   request
	notBefore time.Time // of the next pass, or of opening
	nextPass  time.Time // when a pass is due although no ref moved; zero: never
	alarm     alarm
	waits     string    // why the rollout holds it back
	asked     *question // nil if nobody asks

	last     lastPass
	children []*Definition // of forEach

	status Status // as published; what it refers to is never changed
}

// phase is the present activity of the pipeline. A running pass may belong to an earlier instance.
type phase int

const (
	phaseIdle phase = iota
	phaseOpening
	phasePassing
	phaseReporting // a pass has ended, but not all observers know yet
	phaseStuck     // a pass is over its time, but does not end
)

// lastPass has what conditions depend on, in addition to the status.
type lastPass struct {
	began     time.Time
	succeeded bool   // one has succeeded since the pipeline was new or changed
	rendered  bool   // and the last one that did gave a render
	failure   string // why the last one failed; empty if it did not
	permanent bool   // a retry cannot fix the failure
	refused   string // why nothing was written, though the pass succeeded
	problem   string // what is wrong with what it read
	failures  int    // in a row
}

// mayRun reports whether the pipeline is to be open.
func (p *runner) mayRun() bool {
	return p.owned && p.refused == "" && !p.removed && !p.def.Spec.Suspend
}

// inPass reports whether a pass runs, or not all observers know of it yet.
func (p *runner) inPass() bool { return p.phase >= phasePassing }

func (p *runner) name() string { return p.def.Metadata.Name }

// ask asks for a pass as soon as possible.
func (p *runner) ask(r request, minGap time.Duration) {
	p.request = p.request.merge(r)
	p.notBefore = p.last.began.Add(minGap)
}

// remind asks for the pass that is due although nothing moved. It returns how long that is ahead; 0: it is not.
func (p *runner) remind(now time.Time) time.Duration {
	switch wait := p.nextPass.Sub(now); {
	case p.nextPass.IsZero() || p.instance == nil:
		return 0
	case wait > 0:
		return wait
	}
	p.nextPass = time.Time{}
	p.request = p.request.merge(request{reason: ReasonCharts})
	return 0
}

// isSame reports whether an entry of the configuration leaves the pipeline as it is.
func (p *runner) isSame(e entry) bool {
	same := reflect.DeepEqual(p.def.Pipeline, e.def.Pipeline) && (p.def.Expand == nil) == (e.def.Expand == nil)
	return same && !p.removed && p.refused == e.refused && p.owned == e.owned
}

// set applies an entry of the configuration. Unless that is the same, the pipeline forgets its passes,
// but keeps a request that somebody waits for.
func (p *runner) set(e entry, same bool, minGap time.Duration) {
	p.refused, p.owned, p.removed = e.refused, e.owned, false
	p.def = e.def // its functions are the new ones
	if !same {
		carriedOver := p.request.carriedOver()
		p.reset()
		if p.mayRun() {
			p.request = carriedOver
		}
		p.notBefore = p.last.began.Add(minGap)
	}
	p.status.Origin, p.status.Suspended, p.status.Owned = e.def.Origin, e.def.Spec.Suspend, e.owned
}

// reset forgets the passes of a pipeline, but not the last trigger that it handled.
func (p *runner) reset() {
	p.problem, p.waits, p.request, p.nextPass = "", "", request{}, time.Time{}
	p.generation++
	p.last = lastPass{began: p.last.began}
	p.status = Status{
		Name: p.name(), ForEach: p.def.Spec.ForEach,
		Conditions: p.status.Conditions, Pipelines: p.status.Pipelines,
		LastHandledReconcileAt: p.status.LastHandledReconcileAt,
		Sources:                []gitsync.SourceStatus{}, Units: []UnitStatus{}, Held: []plan.HeldObject{},
	}
	for _, src := range p.def.Spec.Sources {
		p.status.Sources = append(p.status.Sources,
			gitsync.SourceStatus{URL: normalURL(src.URL), Ref: sourceRef(src).String()})
	}
	if out := p.def.Spec.Output; p.def.Expand == nil {
		p.status.Output = &gitsync.OutputStatus{URL: normalURL(out.URL), Branch: out.Branch, Path: out.Path}
	}
}

// conclude records a pass of the current instance. A failed one is retried after a delay.
func (p *runner) conclude(r *run, minGap time.Duration, random func() float64) {
	p.status.record(r)
	if r.err == nil {
		p.last, p.nextPass = r.summary(), r.report.NextPass
		if r.def.Expand != nil {
			p.children = pointers(r.made)
		}
		return
	}
	p.last.failure, p.last.permanent = withRemedy(r.err), panics.Is(r.err) || isPermanent(r.err)
	p.last.failures++
	if p.request.isZero() {
		p.request = request{reason: ReasonRetry}
		p.notBefore = time.Now().Add(max(minGap, retryDelay(r.err, p.last.failures, random)))
	}
}

// update computes the conditions, and logs a change. It returns whether observers should know of it: not
// before the first pass has a result.
func (p *runner) update(v view, log *slog.Logger) (changed bool) {
	before := p.status.state()
	p.status.Conditions = timed(conditions(p.inputs(v)), p.status.Conditions, metav1.Now())
	p.status.Failures = p.last.failures
	if p.status.state() == before || p.status.Condition(meta.ReadyCondition).Reason == meta.ProgressingReason {
		return false
	}
	p.status.log(log)
	return true
}

// published returns the status with the time of the next pass.
func (p *runner) published(v view) Status {
	out := p.status
	if p.instance == nil {
		if p.mayRun() && !p.notBefore.IsZero() {
			out.NextPass = jsonTime(p.notBefore)
		}
		return out
	}
	next := v.nextRound
	// A request that is due waits for a remote.
	if !p.request.isZero() && time.Until(p.notBefore) > 0 && (next.IsZero() || p.notBefore.Before(next)) {
		next = p.notBefore
	}
	out.NextPass = jsonTime(next)
	return out
}

// inputs collects what the conditions depend on.
func (p *runner) inputs(v view) inputs {
	in := inputs{
		elsewhere: !p.owned, suspended: p.def.Spec.Suspend, refused: p.refused, problem: p.problem, waits: p.waits,
		busy: p.phase == phasePassing || !p.request.isZero(), last: p.last, result: p.result(),
	}
	if v.outputErr != nil {
		in.outputDown = withRemedy(v.outputErr)
	}
	if v.sourceErr != nil {
		in.sourceDown = withRemedy(v.sourceErr)
	}
	in.downPermanently = isPermanent(v.outputErr) || isPermanent(v.sourceErr)
	return in
}

// result describes the result of the last successful pass.
func (p *runner) result() string {
	switch {
	case p.def.Expand != nil:
		return fmt.Sprintf("pipelines made of folders: %d", len(p.status.Pipelines))
	case p.status.Output == nil || p.status.Output.Commit == "":
		return "there is nothing to write"
	}
	return fmt.Sprintf("the output is %s@sha1:%s", p.status.Output.Branch, p.status.Output.Commit)
}

// rollout returns the settings that hold the pipeline back. The rollout of a pattern applies only to the pipelines made
// of it.
func (d *Definition) rollout() pipeline.Rollout {
	if d.Expand != nil {
		return pipeline.Rollout{}
	}
	return d.Spec.Rollout
}

func (d *Definition) interval() time.Duration {
	if i := d.Spec.Interval; i != nil && i.Duration > 0 {
		return i.Duration
	}
	return pipeline.DefaultInterval
}
