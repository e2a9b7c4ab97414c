package explained

import (
	"net/http"
	"slices"
	"sync"

	"github.com/agentry-dev/agentry/generator/explain"
)

// maxKept is for how many pipelines what explains their last pass is kept.
const maxKept = 2

// Renders returns what the last pass of a pipeline rendered, or nil if that is not kept. It returns false if there is no
// such pipeline.
type Renders func(pipeline string) (render *explain.Render, ok bool)

// Store keeps what explains renders. It is safe for concurrent use.
type Store struct {
	renders Renders

	mu   sync.Mutex
	kept []*kept // the one that was asked last is last
}

// NewStore returns a Store of the renders of a fleet.
func NewStore(renders Renders) *Store { return &Store{renders: renders} }

// kept explains one render. Its mu guards the world, which is asked by one request at a time.
type kept struct {
	pipeline string
	render   *explain.Render

	mu    sync.Mutex
	world *explain.World
	index *explain.Index
}

// last returns what explains the last pass of a pipeline.
func (s *Store) last(pipeline string) (*kept, *Refusal) {
	render, ok := s.renders(pipeline)
	if !ok {
		return nil, &Refusal{Status: http.StatusNotFound, Message: "no such pipeline"}
	}
	if render == nil {
		s.forget(pipeline)
		return nil, &Refusal{http.StatusServiceUnavailable, "nothing is kept of the last pass", "agentry trigger " + pipeline + " makes another one"}
	}
	return s.of(pipeline, render), nil
}

// of returns what explains a render of a pipeline.
func (s *Store) of(pipeline string, render *explain.Render) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.kept, func(k *kept) bool { return k.pipeline == pipeline })
	k := &kept{pipeline: pipeline, render: render}
	if i >= 0 {
		if s.kept[i].render == render {
			k = s.kept[i]
		}
		s.kept = slices.Delete(s.kept, i, i+1)
	}
	if len(s.kept) == maxKept {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	s.kept = append(s.kept, k)
	return k
}

// forget drops what explains a pipeline.
func (s *Store) forget(pipeline string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(k *kept) bool { return k.pipeline == pipeline })
}

// ask calls a function with the world.
func (k *kept) ask(f func(*explain.World)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.world == nil {
		k.world = explain.New(*k.render)
	}
	f(k.world)
}

// search looks for objects.
func (k *kept) search(query string, limit int) explain.Hits {
	var index *explain.Index
	k.ask(func(w *explain.World) {
		if k.index == nil {
			k.index = w.Index()
		}
		index = k.index
	})
	return index.Search(query, limit)
}
