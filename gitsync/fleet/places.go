package fleet

import (
	"context"
	"slices"
	"sync"
	"time"
)

// slowAfter is how long a pass may read and render before it counts as slow.
const slowAfter = 30 * time.Second

// places are the limited number of places of passes that read and render, taken in order of arrival. However long some
// pipelines take, the others go on: slow passes get all places but one, and while they hold all of them because nobody
// knew before that they are slow, there is one more place for a quick pass. It is safe for concurrent use.
type places struct {
	size int

	mu        sync.Mutex
	held      map[*place]bool
	waiting   []*place
	abandoned map[*pace]bool
}

// pace is how fast the passes of one pipeline are. places.mu guards it.
type pace struct {
	// slow means that the last pass was slow, or that the running one is.
	slow bool
	// isSlow means that the running one is.
	isSlow bool
}

// place is the place that a pass takes.
type place struct {
	of    *pace
	free  chan struct{} // closed when the pass has it
	timer *time.Timer   // until the pass is slow
}

func newPlaces(n int) *places {
	return &places{size: n, held: map[*place]bool{}, abandoned: map[*pace]bool{}}
}

// enter takes a place, and returns the function that gives it back.
func (s *places) enter(ctx context.Context, of *pace) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	one := &place{of: of, free: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, one)
	s.admit()
	s.mu.Unlock()
	leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(one)
	}
	select {
	case <-one.free:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// remove takes a place from the pass that has it or waits for it. s.mu is held.
func (s *places) remove(one *place) {
	s.waiting = slices.DeleteFunc(s.waiting, func(other *place) bool { return other == one })
	if s.held[one] {
		one.timer.Stop()
		delete(s.held, one)
	}
	s.admit()
}

// admit gives places to all who wait and may have one. s.mu is held.
func (s *places) admit() {
	s.waiting = slices.DeleteFunc(s.waiting, func(one *place) bool {
		if !s.hasRoom(one.of) {
			return false
		}
		s.held[one] = true
		one.timer = time.AfterFunc(slowAfter, func() { s.slows(one) })
		close(one.free)
		return true
	})
}

// hasRoom reports whether a pipeline of a pace may have a place. s.mu is held.
func (s *places) hasRoom(of *pace) bool {
	slow := 0
	for one := range s.held {
		if one.of.slow {
			slow++
		}
	}
	if of.slow {
		return len(s.held) < s.size && slow < max(s.size-1, 1)
	}
	return len(s.held)-slow < max(s.size-slow, 1) && len(s.held) < 2*s.size
}

// slows notes that a pass is slow.
func (s *places) slows(one *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[one] {
		one.of.slow, one.of.isSlow = true, true
		s.admit()
	}
}

// ended notes that the pass of a pipeline has ended, slow or not.
func (s *places) ended(of *pace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of.slow, of.isSlow = of.isSlow, false
	delete(s.abandoned, of)
}

// abandon takes its place from a pass that does not end, for other passes. As such passes go on and need memory and a
// processor, no more than size places are taken from them.
func (s *places) abandon(of *pace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.abandoned) >= s.size {
		return
	}
	s.abandoned[of] = true
	for one := range s.held {
		if one.of == of {
			s.remove(one)
		}
	}
}
