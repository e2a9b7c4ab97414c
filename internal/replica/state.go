package replica

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// state is what a replica knows and is: the Leases as it last saw them, its term, and the shards that
// it runs. It makes no request. One lock guards all of it, because [Replica.MayPublish] is decided by
// all of it at one moment.
type state struct {
	wake   chan struct{} // something changed that a round of shards depends on
	listed chan struct{} // a list was taken in

	mu       sync.Mutex
	now      func() time.Time
	view     view
	writes   int       // of ours into the view: see watcher.list
	heard    time.Time // when the watch last said anything; zero: never
	term     string    // ours; empty before the first and between two
	renewed  time.Time // when the last good renewal began
	owned    [shardCount]bool
	draining [shardCount]bool
	given    [shardCount]string // versions of Leases that we tried to release
}

// mayPublish reports whether a shard is surely held by us. A release may have been carried out before,
// or without, an answer to it. It is called with mu held.
func (s *state) mayPublish(n int) bool {
	lease := s.view.shards[n]
	return s.stands() && holder(lease) == s.term && lease.ResourceVersion != s.given[n]
}

// stands reports whether our term can be trusted. If the wall clock was set forward, that costs no more
// than a new term; the monotonic clock does not count the time for which the machine was suspended. It
// is called with mu held.
func (s *state) stands() bool {
	now := s.now()
	since := max(now.Sub(s.renewed), now.Round(0).Sub(s.renewed.Round(0)))
	return s.term != "" && since < trustTime
}

// situation is what a decision depends on. It is called with mu held.
func (s *state) situation(self string) situation {
	return situation{view: &s.view, self: self, term: s.term, given: s.given, now: s.now()}
}

// take takes in what a watch tells.
func (s *state) take(kind watch.EventType, lease *coordinationv1.Lease) {
	s.mu.Lock()
	s.heard = s.now()
	switch kind {
	case watch.Added, watch.Modified:
		s.view.put(lease, s.heard)
	case watch.Deleted:
		s.view.drop(lease)
	}
	s.mu.Unlock()
	poke(s.wake)
}

// wrote takes in the answer to a write of ours, which the watch will repeat.
func (s *state) wrote(lease *coordinationv1.Lease) {
	s.mu.Lock()
	s.writes++
	s.view.put(lease, s.now())
	s.mu.Unlock()
}

// deleted takes in that we deleted a Lease, which the watch will repeat.
func (s *state) deleted(lease *coordinationv1.Lease) {
	s.mu.Lock()
	s.writes++
	s.view.drop(lease)
	s.mu.Unlock()
	poke(s.wake)
}

// begin begins a term that was registered at a moment.
func (s *state) begin(term string, at time.Time) {
	s.mu.Lock()
	s.term, s.renewed = term, at
	s.view.restartClocks(s.now())
	s.mu.Unlock()
	poke(s.wake)
}

// end ends our term and returns it.
func (s *state) end() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	term := s.term
	s.term = ""
	return term
}
