package fleet

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Status returns the state of all pipelines, in the order of the configuration.
func (f *Fleet) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Status, len(f.order))
	for i, p := range f.order {
		out[i] = p.published(f.remotes.look(p.instance))
	}
	return out
}

// Pipeline returns the state of one pipeline.
func (f *Fleet) Pipeline(name string) (Status, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pipelines[name]
	if p == nil || p.removed {
		return Status{}, false
	}
	return p.published(f.remotes.look(p.instance)), true
}

// Definitions returns all pipelines, including those made of folders, in the order of the configuration. They must
// not be changed.
func (f *Fleet) Definitions() []*Definition {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]*Definition, len(f.order))
	for i, p := range f.order {
		out[i] = p.def
	}
	return out
}

// Explained returns the last render of a pipeline, for package explain. If memory was needed for other pipelines since,
// a pass renders it again, for which Explained waits until ctx ends. It is nil then, before the first pass, after the
// pipeline changed, and if passes fail. Explained returns false if there is no such pipeline.
func (f *Fleet) Explained(ctx context.Context, name string) (*explain.Render, bool) {
	f.mu.Lock()
	p := f.pipelines[name]
	if p == nil || p.removed || p.instance == nil {
		f.mu.Unlock()
		return nil, p != nil && !p.removed
	}
	render := p.instance.explained.Load()
	if render != nil || !p.last.rendered || p.last.failure != "" || f.remotes.look(p.instance).outputFails {
		f.mu.Unlock()
		return render, true // a pass would give none
	}
	if p.asked == nil {
		p.asked = &question{answered: make(chan struct{})}
		p.ask(request{reason: ReasonQuestion}, f.options.MinGap)
		f.schedule(p)
	}
	asked := p.asked
	f.mu.Unlock()
	select {
	case <-asked.answered:
		return asked.render, true
	case <-ctx.Done():
		return nil, true
	}
}

// question asks for a render that is not kept.
type question struct {
	answered chan struct{} // closed when there is a render, or none will come
	render   *explain.Render
}

// answer gives the render of a pass to those who ask for it.
func (p *runner) answer(r *run) {
	if p.asked == nil {
		return
	}
	if r.report != nil && r.instance == p.instance {
		p.asked.render = r.report.Explained
	}
	close(p.asked.answered)
	p.asked = nil
}

// Index returns the names of the last render of a pipeline. It is kept when [Fleet.Explained] is not, unless the names
// of all pipelines are too many. It is nil before the first pass, and while another replica runs the pipeline. Index
// returns false if there is no such pipeline.
func (f *Fleet) Index(name string) (*explain.Index, bool) {
	f.mu.Lock()
	p := f.pipelines[name]
	if p == nil || p.removed {
		f.mu.Unlock()
		return nil, false
	}
	inst := p.instance
	f.mu.Unlock()
	if inst == nil {
		return nil, true
	}
	return inst.index(name, f.log), true
}

// Caches opens a Reader of what is cached of each repository that a pipeline uses, the output's first. It asks no
// remote. The caller must close the Readers. There are none before the pipeline is open, and while another replica runs
// it. Caches returns false if there is no such pipeline.
func (f *Fleet) Caches(name string) ([]*object.Reader, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pipelines[name]
	if p == nil || p.removed {
		return nil, false
	}
	return f.remotes.readers(p.instance), true
}

// Problems returns the problems of the configuration as a whole: those given to [Fleet.Set], and names that are
// defined twice.
func (f *Fleet) Problems() diag.List {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Concat(f.problems, f.doubles)
}

// MemoryBytes returns an estimate of what all pipelines together keep between passes.
func (f *Fleet) MemoryBytes() int64 { return f.memory.bytes() }

// Remotes returns the state of all remotes, by URL. It takes the lock of the fleet, so that health checks notice a
// deadlock.
func (f *Fleet) Remotes() []RemoteStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remotes.status()
}

// jsonTime returns a time for JSON, or nil if it is zero.
func jsonTime(t time.Time) *metav1.Time { return timeOfDay(t, time.Now()) }

// timeOfDay converts a moment to the time that the wall clock shows at it, as it is set now: it may have been set
// since.
func timeOfDay(t, now time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(now.Round(0).Add(t.Sub(now))))
}
