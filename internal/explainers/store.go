package explainers

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/generator/explain"
)

// maxKept is how many explainers are kept.
const maxKept = 2

// patience limits how long a question waits for a render that is not kept.
const patience = 10 * time.Second

// Fleet has the last renders of pipelines, and their names. It returns nil if there are none, and false if there is no
// such pipeline. It is implemented by [fleet.Fleet].
type Fleet interface {
	Explained(ctx context.Context, pipeline string) (render *explain.Render, ok bool)
	Index(pipeline string) (index *explain.Index, ok bool)
}

// Store keeps explainers of the last renders. It is safe for concurrent use.
type Store struct {
	fleet Fleet

	mu   sync.Mutex
	kept []*kept // least recently used first
}

// NewStore returns a Store of the renders of a fleet.
func NewStore(f Fleet) *Store { return &Store{fleet: f} }

// kept is the explainer of one render. mu guards it: it answers one request at a time.
type kept struct {
	pipeline string
	render   *explain.Render

	mu        sync.Mutex
	explainer *explain.Explainer
}

// last returns the explainer of the last pass of a pipeline.
func (s *Store) last(ctx context.Context, pipeline string) (*kept, *Refusal) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	render, ok := s.fleet.Explained(ctx, pipeline)
	if !ok {
		return nil, noPipeline()
	}
	if render == nil {
		s.forget(pipeline)
		return nil, notKept(pipeline)
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

func noPipeline() *Refusal { return &Refusal{Status: http.StatusNotFound, Message: "no such pipeline"} }

func notKept(pipeline string) *Refusal {
	return &Refusal{http.StatusServiceUnavailable, "nothing is kept of the last pass",
		"agentry trigger " + pipeline + " makes another one"}
}
