package preview

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// schedule decides when to list the pull requests of each source. It is safe for concurrent use.
type schedule struct {
	wake chan struct{} // the result of next may have changed

	mu      sync.Mutex
	watches map[watchKey]*watch
}

type watchKey struct {
	pipeline string
	source   int
}

// watch is the schedule of one source.
type watch struct {
	def         *fleet.Definition // of the last pass
	inputs      string            // the commits of the last pass
	due         time.Time
	last        time.Time // the last round
	triggered   time.Time // the last trigger: older lists are out of date
	nextRefresh time.Time // no preview is updated for a new base before this time
	source      *source
}

// turn is a source whose round has begun, with its schedule.
type turn struct {
	*source
	key                    watchKey
	def                    *fleet.Definition
	inputs                 string
	interval               time.Duration
	triggered, nextRefresh time.Time
}

// set updates the schedule of a pipeline after a pass: pipelines are previewed from their first pass until they are
// removed, suspended or run by another replica.
func (s *schedule) set(out fleet.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := out.Definition
	followed := out.After.Owned && !out.Removed && !d.Spec.Suspend
	wanted := map[watchKey]bool{}
	for i, src := range d.Spec.Sources {
		if !followed || !isPreviewed(src) || slices.ContainsFunc(sameBranch(d, i), func(n int) bool {
			return n < i && isPreviewed(d.Spec.Sources[n]) // it has the previews of this branch
		}) {
			continue
		}
		key := watchKey{out.After.Name, i}
		wanted[key] = true
		w := s.watches[key]
		if w == nil {
			w = &watch{source: &source{previews: map[int]published{}}}
			s.watches[key] = w
			s.changed()
		}
		w.def = d
		s.moved(w, out.After.Sources)
	}
	for key := range s.watches {
		if key.pipeline == out.After.Name && !wanted[key] {
			delete(s.watches, key)
		}
	}
}

func isPreviewed(src pipeline.Source) bool { return src.Previews != nil && src.Forge != nil }

// moved records the commits of a pass. If they changed, previews may be out of date. s.mu must be held.
func (s *schedule) moved(w *watch, sources []gitsync.SourceStatus) {
	var commits []string
	for _, src := range sources {
		commits = append(commits, src.Commit)
	}
	before := w.inputs
	if w.inputs = strings.Join(commits, " "); before == "" || before == w.inputs || w.inputs == "" {
		return
	}
	at := w.last.Add(minGap)
	if w.nextRefresh.After(at) {
		at = w.nextRefresh
	}
	w.due = earlier(w.due, at)
	s.changed()
}

// trigger makes the sources in a repository due now, or very soon after their last round; "" means all.
func (s *schedule) trigger(repository string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, w := range s.watches {
		if repository == "" || pipeline.RepositoryAddress(w.def.Spec.Sources[key.source].URL) == repository {
			w.due, w.triggered = time.Time{}, time.Now()
			if !w.last.IsZero() {
				w.due = w.last.Add(minGap)
			}
		}
	}
	s.changed()
}

// changed wakes the caller that waits for next.
func (s *schedule) changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next begins the round that has been due the longest. If none is due, ok is false, and wait is the time until one is.
func (s *schedule) next() (t turn, ok bool, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var key watchKey
	var first *watch
	for k, w := range s.watches {
		if first == nil || w.due.Before(first.due) {
			key, first = k, w
		}
	}
	now := time.Now()
	if first == nil {
		return turn{}, false, time.Hour
	}
	if first.due.After(now) {
		return turn{}, false, first.due.Sub(now)
	}
	interval := DefaultInterval
	if i := first.def.Spec.Sources[key.source].Previews.Interval; i != nil && i.Duration > 0 {
		interval = i.Duration
	}
	first.last, first.due = now, now.Add(interval)
	return turn{first.source, key, first.def, first.inputs, interval, first.triggered, first.nextRefresh}, true, 0
}

// refreshLater makes a source due when its previews may next be updated.
func (s *schedule) refreshLater(key watchKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[key]; w != nil {
		w.due = earlier(w.due, w.nextRefresh)
	}
}

// refreshed allows the next update of previews only after the interval.
func (s *schedule) refreshed(key watchKey, interval time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[key]; w != nil {
		w.nextRefresh = w.last.Add(interval)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
