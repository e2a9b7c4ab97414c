package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Status is the state of all pipelines, in the order of the configuration.
func (f *Fleet) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Status, len(f.order))
	for i, p := range f.order {
		out[i] = f.published(p)
	}
	return out
}

// Pipeline is the state of one pipeline.
func (f *Fleet) Pipeline(name string) (Status, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pipelines[name]
	if p == nil || p.removed {
		return Status{}, false
	}
	return f.published(p), true
}

// Definitions are all pipelines, those made of folders included, in the order of the
// configuration. They must not be changed.
func (f *Fleet) Definitions() []*Definition {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]*Definition, len(f.order))
	for i, p := range f.order {
		out[i] = p.def
	}
	return out
}

// ShardKey is what the replica of a pipeline is chosen by; the name itself if it is unknown.
func (f *Fleet) ShardKey(pipeline string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pipelines[pipeline]; p != nil {
		return p.status.ShardKey
	}
	return pipeline
}

// Problems are what is wrong with the configuration as a whole: what was given to
// [Fleet.Set], and pipelines of one name, of which only the first runs.
func (f *Fleet) Problems() diag.List {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Concat(f.problems, f.doubles)
}

// MemoryBytes is an estimate of what all pipelines together keep between passes.
func (f *Fleet) MemoryBytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept
}

// Remotes is the state of all remotes, by URL.
func (f *Fleet) Remotes() []RemoteStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]RemoteStatus, 0, len(f.remotes))
	for _, r := range f.remotes {
		out = append(out, r.status())
	}
	slices.SortFunc(out, func(a, b RemoteStatus) int {
		return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Pipelines, b.Pipelines), cmp.Compare(a.Refs, b.Refs))
	})
	return out
}

func (r *remote) status() RemoteStatus {
	out := RemoteStatus{
		URL: r.repo.URL(), Pipelines: len(r.members), Refs: len(r.refs()),
		Interval: metav1.Duration{Duration: r.interval()}, LastRound: jsonTime(r.good), Took: metav1.Duration{Duration: r.took},
		NextRound: jsonTime(r.due), Failures: r.failures,
	}
	if r.err != nil {
		out.Error = r.err.Error()
	}
	return out
}

// published is a pipeline's status with what only a look at the clock tells. f.mu is held.
func (f *Fleet) published(p *pipeline) Status {
	out := p.status
	if p.at == nil {
		if p.mayRun() && !p.notBefore.IsZero() {
			out.NextPass = jsonTime(p.notBefore)
		}
		return out
	}
	var next time.Time
	for _, m := range p.at.members {
		if due := m.remote.due; !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	// A wish that might be granted by now waits for a remote.
	if !p.want.isZero() && time.Until(p.notBefore) > 0 && (next.IsZero() || p.notBefore.Before(next)) {
		next = p.notBefore
	}
	out.NextPass = jsonTime(next)
	return out
}

// jsonTime is a time for JSON, nil if there is none.
func jsonTime(t time.Time) *metav1.Time { return timeOfDay(t, time.Now()) }

// timeOfDay is what the clock on the wall, as it goes now, showed or will show at a moment: it may
// have been set since that was noted.
func timeOfDay(t, now time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	out := metav1.NewTime(now.Round(0).Add(t.Sub(now)))
	return &out
}

// made says what the last good pass left.
func (p *pipeline) made() string {
	switch {
	case p.def.Expand != nil:
		return fmt.Sprintf("pipelines made of folders: %d", len(p.status.Pipelines))
	case p.status.Output == nil || p.status.Output.Commit == "":
		return "there is nothing to write"
	}
	return fmt.Sprintf("the output is %s@sha1:%s", p.status.Output.Branch, p.status.Output.Commit)
}
