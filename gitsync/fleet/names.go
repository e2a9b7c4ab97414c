package fleet

import (
	"log/slog"
	"time"
	"weak"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/internal/panics"
)

// names are the names of a render.
type names struct {
	of    weak.Pointer[explain.Render] // they outlive it
	index *explain.Index               // nil if there is no memory for it, or making it has failed
	took  time.Duration                // to make it, which needs a look at every object
}

// newNames makes the names of a render of a pipeline. A panic costs the pipeline its names, and nothing else.
func newNames(of *explain.Render, pipeline string, log *slog.Logger) *names {
	if of == nil {
		return nil
	}
	n := &names{of: weak.Make(of)}
	start := time.Now()
	func() {
		defer panics.Recover(log, "index of names", pipeline, nil)
		n.index = explain.New(*of).Index()
	}()
	n.took = time.Since(start)
	return n
}

// bytes returns the memory that the names take.
func (n *names) bytes() int64 {
	if n == nil || n.index == nil {
		return 0
	}
	return n.index.Bytes()
}

// isQuick reports whether making the names takes little of what a pass takes, by what it took last: the cost of a pass
// follows what changed, and that of names does not.
func (i *instance) isQuick(pass time.Duration) bool {
	const part = 4
	last := i.names.Load()
	return last == nil || last.took < pass/part
}

// index returns the names of the last render, and makes them if its pass has not.
func (i *instance) index(pipeline string, log *slog.Logger) *explain.Index {
	render, n := i.explained.Load(), i.names.Load()
	if render != nil && (n == nil || n.of != weak.Make(render)) {
		i.naming.Lock()
		defer i.naming.Unlock()
		if n = i.names.Load(); n == nil || n.of != weak.Make(render) {
			n = newNames(render, pipeline, log)
			i.names.Store(n)
		}
	}
	if n == nil {
		return nil
	}
	return n.index
}
