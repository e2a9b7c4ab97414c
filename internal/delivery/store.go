package delivery

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// Limits of what is remembered.
const (
	// MaxPushes is how many commits of a pipeline are followed.
	MaxPushes = 10
	// MaxReconcilers limits the reconcilers of a pipeline, and MaxRows what all have said about all commits.
	MaxReconcilers = 500
	MaxRows        = 20000
	// maxWaiting limits the reports about commits that are not known yet: a reconciler can be faster than the pass
	// that pushed the commit.
	maxWaiting = 256
	// maxTips limits the later commits of others on a branch.
	maxTips = 16
)

// Options are the settings of a Store.
type Options struct {
	// Applied is called when a reconciler has applied a commit for the first time, with the time since its push. It
	// is not called for commits that this process did not push.
	Applied func(pipeline string, since time.Duration)
	// Changed is called when the outcome of a commit that this process pushed has changed. Calls are in order.
	Changed func(Change)
	Log     *slog.Logger
}

// Change is a new outcome of a commit.
type Change struct {
	Definition *fleet.Definition
	// Inputs are the input commits, in the order of the pipeline's sources; empty for a source that was stale.
	Inputs []string
	Status Status
}

// Store knows which commits the pipelines have pushed, and what was reported about them. It is safe for concurrent
// use. A nil Store knows nothing.
type Store struct {
	options Options

	mu        sync.Mutex
	pipelines map[string]*followed
	rows      int
	waiting   []Report // the oldest first
}

var _ fleet.Observer = (*Store)(nil)

// followed is a pipeline with its last commits.
type followed struct {
	definition  *fleet.Definition
	pushes      []*push // the newest first; never empty
	reconcilers map[who]*reconciler
	// units are those of the branch, and those that a followed push removed, with the number of the last push that
	// changed each; 0 if none did.
	units map[string]int
}

// who is a reconciler.
type who struct{ cluster, object, unit string }

// covers reports whether a reconciler applies a unit.
func (w who) covers(unit string) bool {
	return w.unit == "" || w.unit == unit || strings.HasPrefix(unit, w.unit+"/")
}

// reconciler is how far a reconciler has come.
type reconciler struct {
	applied int       // the number of the push that it has applied
	sent    time.Time // of the report that says so, by its clock
	heard   int       // the number of the newest push when it last reported
}

// has notes that it has applied a push. An older one than before counts only if the report was sent later: then it was
// taken back, and otherwise the report was overtaken.
func (r *reconciler) has(number int, sent time.Time) {
	if number > r.applied || sent.After(r.sent) {
		r.applied = number
	}
	if sent.After(r.sent) {
		r.sent = sent
	}
}

// push is a commit of the output branch.
type push struct {
	number int // counted from 1
	commit string
	tips   []string  // commits of others that followed, and left the pipeline's files unchanged
	at     time.Time // zero: before this process began
	inputs []string
	rows   map[who]*row
	told   string // the last outcome that was passed to Options.Changed
}

// row is what a reconciler has said about a push.
type row struct {
	state            State
	message          string
	sent             time.Time // by the reconciler's clock
	reported         time.Time
	applied, healthy time.Time
}

// New returns a store that knows no pipeline.
func New(o Options) *Store { return &Store{options: o, pipelines: map[string]*followed{}} }

// Passed implements [fleet.Observer].
func (s *Store) Passed(_ context.Context, out fleet.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := out.After.Name
	if out.Removed || !out.After.Owned || out.Definition == nil {
		s.forget(name)
		return
	}
	if output := out.After.Output; output == nil || output.Commit == "" {
		return
	}
	f := s.pipelines[name]
	if f == nil {
		f = &followed{reconcilers: map[who]*reconciler{}, units: map[string]int{}}
		s.pipelines[name] = f
	}
	f.definition = out.Definition
	hasCommit := s.follow(f, out)
	hasUnits := f.learn(out.After.Units)
	if !hasCommit && !hasUnits {
		return
	}
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		s.record(r)
	}
	s.tell(f)
}

// forget drops a pipeline. s.mu is held.
func (s *Store) forget(name string) {
	if f := s.pipelines[name]; f != nil {
		for _, p := range f.pushes {
			s.rows -= len(p.rows)
		}
		delete(s.pipelines, name)
	}
}

// follow reports whether an outcome has a new commit, and follows that from now on. s.mu is held.
func (s *Store) follow(f *followed, out fleet.Outcome) bool {
	tip := out.After.Output.Commit
	if len(f.pushes) > 0 && f.pushes[0].has(tip) {
		return false
	}
	p := &push{number: 1, commit: tip, rows: map[who]*row{}}
	if len(f.pushes) > 0 {
		p.number = f.pushes[0].number + 1
	}
	isPush := out.Report != nil && out.Report.Commit == tip && !out.Report.DryRun
	switch {
	case isPush:
		p.at = time.Now()
		for _, src := range out.After.Sources {
			commit := src.Commit
			if src.Stale {
				commit = ""
			}
			p.inputs = append(p.inputs, commit)
		}
		for _, u := range out.Report.Units {
			if u.State == plan.UnitAdded || u.State == plan.UnitChanged || u.State == plan.UnitRemoved {
				f.units[u.Name] = p.number
			}
		}
	case len(f.pushes) == 0: // a commit of an earlier process
		f.changeAll(out, p)
	case f.definition.Spec.Output.Promotion.Mode.Proposes(): // merged by somebody
		p.at = time.Now()
		f.changeAll(out, p)
	default:
		f.pushes[0].add(tip)
		return true
	}
	f.pushes = slices.Insert(f.pushes, 0, p)
	if len(f.pushes) > MaxPushes {
		s.drop(f, out.After.Units)
	}
	return true
}

// learn reports whether units of the branch are new, and knows them from now on.
func (f *followed) learn(units []fleet.UnitStatus) (isNew bool) {
	for _, u := range units {
		if _, ok := f.units[u.Name]; !ok {
			f.units[u.Name], isNew = 0, true
		}
	}
	return isNew
}

// changeAll notes that a push may have changed any of the units.
func (f *followed) changeAll(out fleet.Outcome, p *push) {
	for _, u := range out.After.Units {
		f.units[u.Name] = p.number
	}
}

// drop forgets the oldest push, and what only it had; units are those of the branch. s.mu is held.
func (s *Store) drop(f *followed, units []fleet.UnitStatus) {
	oldest := f.pushes[MaxPushes]
	f.pushes = f.pushes[:MaxPushes]
	s.rows -= len(oldest.rows)
	names := map[string]bool{}
	for _, u := range units {
		names[u.Name] = true
	}
	maps.DeleteFunc(f.units, func(name string, number int) bool { return number <= oldest.number && !names[name] })
	maps.DeleteFunc(f.reconcilers, func(_ who, r *reconciler) bool { return r.heard <= oldest.number })
}

func (p *push) add(tip string) {
	p.tips = append(p.tips, tip)
	p.tips = p.tips[max(0, len(p.tips)-maxTips):]
}

// has reports whether the files of a push are those at a commit, or at the commit with an id that begins so.
func (p *push) has(commit string) bool {
	return strings.HasPrefix(p.commit, commit) ||
		slices.ContainsFunc(p.tips, func(tip string) bool { return strings.HasPrefix(tip, commit) })
}

// Record records a report, and reports whether it is about a commit of a pipeline. If not, it waits for that commit
// for a while.
func (s *Store) Record(r Report) bool {
	r = r.clean()
	if r.State != Applied && r.State != Healthy && r.State != Failed {
		return false
	}
	r.received = time.Now()
	if r.Sent.After(r.received) { // by a clock that may be set right before the next report
		r.Sent = r.received.Truncate(time.Second) // as exact as reports are
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.record(r)
	if !known && r.Unit != "" {
		s.options.Log.Info("a report of a reconciler names a unit, but no pipeline that has it pushed the commit yet",
			"unit", r.Unit, "pipeline", r.Pipeline, "cluster", r.Cluster, "reconciler", r.Reconciler)
	}
	return known
}

// record is Record for a clean report. s.mu is held.
func (s *Store) record(r Report) (known bool) {
	for name, p := range s.find(r) {
		known = true
		f := s.pipelines[name]
		s.note(name, f, p, r)
		s.tell(f)
	}
	if !known && r.Commit != "" {
		s.waiting = append(s.waiting, r)
		s.waiting = s.waiting[max(0, len(s.waiting)-maxWaiting):]
	}
	return known
}

// find returns the pushes that a report is about, by pipeline. If the report does not say what its reconciler applies,
// it is about the pipeline that made the commit. s.mu is held.
func (s *Store) find(r Report) map[string]*push {
	found := map[string]*push{}
	for name, f := range s.pipelines {
		if p := f.find(name, r); p != nil {
			found[name] = p
		}
	}
	if r.Pipeline == "" && r.Path == "" && len(found) > 1 {
		return nil // Right after a start, pipelines that share a branch have the same commit.
	}
	return found
}

func (f *followed) find(name string, r Report) *push {
	o := f.definition.Spec.Output
	isNamed := r.Pipeline != ""
	switch {
	case isNamed && r.Pipeline != name:
		return nil
	case r.Repository != "" && r.Repository != pipeline.RepositoryAddress(o.URL),
		r.Branch != "" && r.Branch != o.Branch, r.Path != "" && !f.isWithin(r.Path), !f.hasUnitOf(r):
		return nil
	case r.Commit == "" && r.Branch != "":
		return f.pushes[0]
	case r.Commit == "":
		return nil
	}
	for _, p := range f.pushes {
		if strings.HasPrefix(p.commit, r.Commit) || (isNamed || r.Path != "") && p.has(r.Commit) {
			return p
		}
	}
	return nil
}

// hasUnitOf reports whether the pipeline has the unit, or folder of units, that a report names. A reconciler keeps
// its unit after that is gone.
func (f *followed) hasUnitOf(r Report) bool {
	if r.Unit == "" || f.reconcilers[f.whoSays(r)] != nil {
		return true
	}
	for unit := range f.units {
		if f.whoSays(r).covers(unit) {
			return true
		}
	}
	return false
}

// isWithin reports whether a path has files of the pipeline.
func (f *followed) isWithin(at string) bool {
	own := f.path()
	return pipeline.Within(at, own) || pipeline.Within(own, at)
}

func (f *followed) path() string {
	if p := f.definition.Spec.Output.Path; p != "" {
		return p
	}
	return "."
}

// whoSays returns the reconciler of a report. A path below the output's is a unit, or a folder of them.
func (f *followed) whoSays(r Report) who {
	w := who{r.Cluster, r.Reconciler, r.Unit}
	if own := f.path(); w.unit == "" && r.Path != "" && r.Path != own && pipeline.Within(own, r.Path) {
		w.unit = r.Path
		if own != "." {
			w.unit = strings.TrimPrefix(r.Path, own+"/")
		}
	}
	return w
}

// note adds a report to a push. s.mu is held.
func (s *Store) note(name string, f *followed, p *push, r Report) {
	w := f.whoSays(r)
	from, at := f.reconcilers[w], p.rows[w]
	if at == nil && (from == nil && len(f.reconcilers) >= MaxReconcilers || s.rows >= MaxRows) {
		s.options.Log.Warn("a report of a reconciler is not kept, because there are too many", "pipeline", name,
			"cluster", w.cluster, "reconciler", w.object)
		return
	}
	if from == nil {
		from = &reconciler{}
		f.reconcilers[w] = from
	}
	if at == nil {
		at = &row{}
		p.rows[w] = at
		s.rows++
	}
	from.heard = f.pushes[0].number
	if r.State != Failed {
		if at.applied.IsZero() {
			at.applied = r.received
			if from.applied < p.number && !p.at.IsZero() && s.options.Applied != nil {
				s.options.Applied(name, max(0, at.applied.Sub(p.at)))
			}
		}
		from.has(p.number, r.Sent)
	}
	if r.State == Healthy && at.healthy.IsZero() {
		at.healthy = r.received
	}
	if at.isNews(r) {
		at.state, at.message, at.sent, at.reported = r.State, r.Message, r.Sent, r.received
	}
}

// isNews reports whether a report says more than the last one. Reports can overtake each other, and have the time in
// seconds. Flux also reports Applied when it corrects a drift and at each interval, which says nothing about health.
func (r *row) isNews(next Report) bool {
	return r.state == "" || !next.Sent.Before(r.sent) && (r.state != Healthy || next.State != Applied)
}

// tell passes on the outcomes that have changed. s.mu is held.
func (s *Store) tell(f *followed) {
	if s.options.Changed == nil || len(f.reconcilers) == 0 {
		return
	}
	for _, p := range slices.Backward(f.pushes) {
		if p.inputs == nil {
			continue
		}
		status := f.status(p)
		if text := status.Summary(); text != p.told {
			p.told = text
			s.options.Changed(Change{Definition: f.definition, Inputs: p.inputs, Status: status})
		}
	}
}
