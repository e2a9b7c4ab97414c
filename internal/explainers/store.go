package explainers

import (
	"net/http"
	"slices"
	"sync"

	"github.com/agentry-dev/agentry/generator/explain"
)

// maxKept is how many explainers are kept.
const maxKept = 2

// Renders returns the last render of a pipeline, or nil if it is not kept. It returns false if there is no such
// pipeline.
type Renders func(pipeline string) (render *explain.Render, ok bool)

// Store keeps explainers of the last renders. It is safe for concurrent use.
type Store struct {
	renders Renders

	mu   sync.Mutex
	kept []*kept // least recently used first
}

// NewStore returns a Store of the renders of a fleet.
func NewStore(renders Renders) *Store { return &Store{renders: renders} }

// kept is the explainer of one render. mu guards it: it answers one request at a time.
type kept struct {
	pipeline string
	render   *explain.Render

	mu        sync.Mutex
	explainer *explain.Explainer
	index     *explain.Index
}

// last returns the explainer of the last pass of a pipeline.
func (s *Store) last(pipeline string) (*kept, *Refusal) {
	render, ok := s.renders(pipeline)
	if !ok {
		return nil, &Refusal{Status: http.StatusNotFound, Message: "no such pipeline"}
	}
	if render == nil {
		s.forget(pipeline)
		return nil, &Refusal{http.StatusServiceUnavailable, "nothing is kept of the last pass",
			"agentry trigger " + pipeline + " makes another one"}
	}
	return s.of(pipeline, render), nil
}

// of returns the explainer of a render of a pipeline, and makes it if it is not kept.
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

// forget drops the explainer of a pipeline.
func (s *Store) forget(pipeline string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(k *kept) bool { return k.pipeline == pipeline })
}

// ask calls f with the explainer, which is made now if it is the first question.
func (k *kept) ask(f func(*explain.Explainer)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.explainer == nil {
		k.explainer = explain.New(*k.render)
	}
	f(k.explainer)
}

// search returns the objects that a query finds, at most limit of them.
func (k *kept) search(query string, limit int) explain.SearchResult {
	var index *explain.Index
	k.ask(func(x *explain.Explainer) {
		if k.index == nil {
			k.index = x.Index()
		}
		index = k.index
	})
	return index.Search(query, limit)
}
